// s3db.js as its workers use it, here and in bench.
import { pathToFileURL } from 'node:url';

// A connected database whose files lie under `prefix`.
export async function connect(modules, endpoint, bucket, prefix) {
  const { S3db } = await import(pathToFileURL(`${modules}/s3db.js/dist/lite.js`).href);
  const key = encodeURIComponent(process.env.AWS_ACCESS_KEY_ID);
  const secret = encodeURIComponent(process.env.AWS_SECRET_ACCESS_KEY);
  const database = new S3db({
    connectionString: `${endpoint.replace('//', `//${key}:${secret}@`)}/${bucket}/${prefix}?forcePathStyle=true`,
    logLevel: 'silent',
    // By default it tries four times over seven seconds to read what is not there (S19).
    executorPool: { retries: 0 },
  });
  await database.connect();
  return database;
}
