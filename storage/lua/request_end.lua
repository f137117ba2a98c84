#!lua flags=allow-oom
-- uses posts requests
-- replies text
-- answers requests
-- Answers a request that has completed its steps, or needs none. ARGV: prefix.
return 'end'
