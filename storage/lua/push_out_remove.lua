#!lua
-- uses push_out
-- replies integer
-- Removes a subscriber. ARGV: prefix, id. Returns 1, or 0 if there was no such subscriber.
return remove_subscriber(ARGV[2])
