-- The roles of a database for `latest` outputs, for psql: variables `writer` and `reader` are their names.
-- Run it in that database as its superuser, as often as you like. It sets no password: `\password <role>` does.

SELECT format('CREATE ROLE %I LOGIN', name) FROM (VALUES (:'writer'), (:'reader')) AS wanted (name)
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Nobody else connects, and nobody else makes tables.
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name)
  FROM (VALUES (:'writer'), (:'reader')) AS wanted (name) \gexec

-- Streams make their tables and grow them by columns, so the writer owns what it makes.
GRANT USAGE, CREATE ON SCHEMA public TO :"writer";

-- Readers see what is there and what the writer will make, and change nothing.
GRANT USAGE ON SCHEMA public TO :"reader";
GRANT SELECT ON ALL TABLES IN SCHEMA public TO :"reader";
ALTER DEFAULT PRIVILEGES FOR ROLE :"writer" IN SCHEMA public GRANT SELECT ON TABLES TO :"reader";
ALTER ROLE :"reader" SET default_transaction_read_only = on;
