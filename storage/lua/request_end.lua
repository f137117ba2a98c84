#!lua flags=allow-oom
-- uses posts requests
-- replies text
-- answers requests
-- Answers a request whose steps have been done, or that nothing is done for. ARGV: prefix.
return 'end'
