"""Tests of the helpers of the end-to-end tests."""
