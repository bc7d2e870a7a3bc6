"""A plain model of time policies and of windows behind them, independent of the implementation."""
