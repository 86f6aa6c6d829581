//go:build linux

package rigvm

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// archive is a cpio archive in the "newc" format, which a kernel unpacks as its first file system.
// See Documentation/driver-api/early-userspace/buffer-format.rst in its source.
type archive struct {
	bytes.Buffer
	inode int
	dirs  map[string]bool
}

const (
	typeDir  = 0o040000
	typeFile = 0o100000
	typeLink = 0o120000
	typeChar = 0o020000
)

// file adds a file with the given permission bits, and the folders that it is in.
func (a *archive) file(name string, perm int, content []byte) {
	a.entry(name, typeFile|perm, 0, 0, content)
}

// link adds a symbolic link.
func (a *archive) link(name, target string) { a.entry(name, typeLink|0o777, 0, 0, []byte(target)) }

// char adds a character device.
func (a *archive) char(name string, major, minor int) {
	a.entry(name, typeChar|0o600, major, minor, nil)
}

// dir adds a folder and those that it is in, once.
func (a *archive) dir(name string) {
	name = strings.Trim(name, "/")
	if name == "" || name == "." || a.dirs[name] {
		return
	}
	if a.dirs == nil {
		a.dirs = map[string]bool{}
	}
	a.dirs[name] = true
	a.dir(path.Dir(name))
	a.header(name, typeDir|0o755, 0, 0, 0)
}

func (a *archive) entry(name string, mode, major, minor int, content []byte) {
	name = strings.Trim(name, "/")
	a.dir(path.Dir(name))
	a.header(name, mode, major, minor, len(content))
	a.Write(content)
	a.pad()
}

// header writes thirteen numbers of eight hexadecimal digits after the magic one, and the name.
func (a *archive) header(name string, mode, major, minor, size int) {
	a.inode++
	a.WriteString("070701")
	for _, n := range []int{
		a.inode, mode, 0, 0, 1, 0, size, // inode and mode, uid and gid, links and mtime, size
		// device, device of a node, length of the name; check sum (none)
		0, 0, major, minor, len(name) + 1, 0,
	} {
		fmt.Fprintf(a, "%08x", n)
	}
	a.WriteString(name)
	a.WriteByte(0)
	a.pad()
}

// pad goes to the next multiple of four bytes.
func (a *archive) pad() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}

// end adds the trailer and returns the archive.
func (a *archive) end() []byte {
	a.header("TRAILER!!!", 0, 0, 0, 0)
	return a.Bytes()
}
