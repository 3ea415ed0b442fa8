// Run a UF2 file in the emulator rp2040js: node run_rp2040.mjs FOLDER-OF-RP2040JS IMAGE.uf2
// Standard input and output are UART0. The emulator comes without the chip's ROM, so that its part is done here, as the
// datasheet has it: check the CRC of the boot block, copy it to the end of RAM, run it there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, image] = process.argv.slice(2);
const { RP2040 } = await import(pathToFileURL(join(folder, 'dist', 'esm', 'index.js')));
const FLASH = 0x10000000;
const COPY = 0x20041f00;

const chip = new RP2040();
chip.logger = Object.fromEntries(['debug', 'warn', 'error', 'info'].map((name) => [name, () => {}]));
const blocks = readFileSync(image);
for (let at = 0; at < blocks.length; at += 512) {
  const place = blocks.readUInt32LE(at + 12) - FLASH;
  chip.flash.set(blocks.subarray(at + 32, at + 32 + blocks.readUInt32LE(at + 16)), place);
}

let crc = 0xffffffff;
for (const byte of chip.flash.subarray(0, 252)) {
  crc ^= byte << 24;
  for (let bit = 0; bit < 8; bit++) {
    crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
}
if (crc >>> 0 !== chip.readUint32(FLASH + 252)) {
  console.error('the ROM finds no boot block');
  process.exit(3);
}
chip.sram.set(chip.flash.subarray(0, 256), COPY - 0x20000000);
chip.core.SP = COPY;
chip.core.PC = COPY;

const waiting = [];
let first = true;
process.stdin.on('data', (bytes) => waiting.push(...bytes));
process.stdin.on('end', () => process.exit(0));
chip.uart[0].onByte = (byte) => {
  if (first) {
    console.error(`clock ${chip.clkSys} baud ${chip.uart[0].baudRate} command ${chip.readUint32(0x180000f4) >>> 24}`);
    first = false;
  }
  process.stdout.write(Uint8Array.of(byte));
};

function go() {
  for (let count = 0; count < 200000; count++) {
    if (waiting.length && chip.uart[0].rxFIFO.empty) {
      chip.uart[0].feedByte(waiting.shift());
    }
    chip.core.executeInstruction();
  }
  setImmediate(go);
}
go();
