//go:build linux

package rigvm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// A kernel unpacks itself when it starts. Under emulation this takes longer than the rest of its
// start. So it is done here, once per package. QEMU enters the unpacked kernel through its PVH
// note.

// unpackedImage is the kernel's own program below the root of the cache's tree. It is not there if
// it could not be unpacked; then the kernel does it, each time.
const unpackedImage = "boot/vmlinux"

// unpackers are the programs for how kernels are compressed, by how their output begins.
var unpackers = [...]struct{ magic, program string }{
	{"\xfd7zXZ\x00", "xz"},
	{"\x28\xb5\x2f\xfd", "zstd"},
}

// unpackImage writes the kernel that is in a vmlinuz, if it is understood.
func unpackImage(ctx context.Context, vmlinuz, to string) error {
	image, err := os.ReadFile(vmlinuz)
	if err != nil {
		return err
	}
	payload := payloadOf(image)
	for _, u := range unpackers {
		if !bytes.HasPrefix(payload, []byte(u.magic)) {
			continue
		}
		path, err := find(u.program, u.program)
		if err != nil {
			return nil
		}
		cmd := exec.CommandContext(ctx, path, "-d", "-c")
		cmd.Stdin = bytes.NewReader(payload)
		program, err := output(cmd)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(program, []byte("\x7fELF")) {
			return errors.New("the content of " + filepath.Base(vmlinuz) + " is not an ELF program")
		}
		return os.WriteFile(to, program, 0o644)
	}
	return nil
}

// payloadOf returns what a bzImage has compressed, or nil. Setup header: setup_sects, magic,
// payload_offset and payload_length (Documentation/arch/x86/boot.rst in the kernel's source). Its
// last four bytes are its unpacked size, which the build appends for xz and zstd.
func payloadOf(image []byte) []byte {
	if len(image) < 0x250 || string(image[0x202:0x206]) != "HdrS" {
		return nil
	}
	start := (uint64(image[0x1f1]) + 1) * 512
	start += uint64(binary.LittleEndian.Uint32(image[0x248:]))
	length := uint64(binary.LittleEndian.Uint32(image[0x24c:]))
	if length < 4 || start+length > uint64(len(image)) {
		return nil
	}
	return image[start : start+length-4]
}
