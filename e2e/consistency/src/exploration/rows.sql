SELECT 'login of ' || project || ': ' || stage
    || CASE WHEN browser IS NULL OR stage <> 'pending' THEN '' ELSE ', bound' END
    || CASE WHEN profile IS NULL OR ends_ms <= $1 THEN '' ELSE ', profile' END
    || CASE WHEN error IS NULL OR stage <> 'settled' THEN '' ELSE ', ' || error END
FROM logins WHERE $1 < known_until_ms
UNION ALL
SELECT 'consumed upstream login' FROM spent_trips WHERE $1 < known_until_ms
UNION ALL
SELECT CASE WHEN token_digest IS NULL THEN 'code of ' ELSE 'token of ' END || project
    || CASE WHEN profile IS NULL THEN '' ELSE ', profile' END
FROM grants WHERE $1 < coalesce(token_ends_ms, code_ends_ms)
