"""How processes exchange data, and the nested structures that they exchange."""
