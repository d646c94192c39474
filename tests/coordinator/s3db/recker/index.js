// Stands in where a registry lacks recker. s3db.js tries its HTTP client first and, when that
// cannot be made, uses the one of the AWS SDK; its coordinator is the same with either.
const absent = (name) => () => {
  throw new Error(`${name}: recker is not installed`);
};
export const createClient = absent('createClient');
export const createHttp2MetricsHooks = absent('createHttp2MetricsHooks');
export const createRedDbClient = absent('createRedDbClient');
export const expandHTTP2Options = absent('expandHTTP2Options');
export const getGlobalHttp2Metrics = absent('getGlobalHttp2Metrics');
export const parseHttp2Error = absent('parseHttp2Error');
export class Http2Error extends Error {}
export class TemplateEngine {}
