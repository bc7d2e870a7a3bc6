"""The dbt project of the examples."""
