// Stands in where a registry lacks it. Only the command line of s3db.js uses it, which no test runs.
export {};
