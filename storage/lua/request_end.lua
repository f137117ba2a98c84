#!lua flags=allow-oom
-- uses posts requests
-- replies text
-- answers requests
-- Answers a request whose steps are done, or that needs no action. ARGV: prefix.
return 'end'
