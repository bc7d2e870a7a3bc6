"""What a user may pick: transom, Spark's own means, Flink; measured in turn, on the same files."""
