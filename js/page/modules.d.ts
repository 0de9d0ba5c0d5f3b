declare module "*.wasm" {
  const code: Uint8Array<ArrayBuffer>;
  export default code;
}
