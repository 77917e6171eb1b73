"""What every command returns: plain data with a versioned JSON form."""
