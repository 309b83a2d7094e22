"""A plugin of Leaseboard."""
