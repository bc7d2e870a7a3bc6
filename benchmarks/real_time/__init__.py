"""Windows in Spark's Real-Time Mode and their peers, from Kafka to Kafka."""
