//go:build linux

package rigvm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const (
	guestPackage  = "github.com/eideticker/eideticker/deploy/rigvm/guest"
	guestModules  = "/lib/rigvm" // where module files are in the guest
	guestPasswd   = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
	guestGroups   = "root:x:0:\ntty:x:5:\nvideo:x:44:\ninput:x:104:\nnogroup:x:65534:\n"
	guestDiskNode = "/dev/vda"
)

// initramfs makes the guest's first and only root: the agent as /init, busybox under all its names,
// and the modules without which the host cannot be heard.
func (k *kernel) initramfs(ctx context.Context, c Config, agent []byte) ([]byte, error) {
	busybox, err := os.ReadFile(k.busybox)
	if err != nil {
		return nil, err
	}
	var a archive
	a.file("init", 0o755, agent)
	a.char("dev/console", 5, 1)
	a.char("dev/null", 1, 3)
	a.file("etc/passwd", 0o644, []byte(guestPasswd))
	a.file("etc/group", 0o644, []byte(guestGroups))
	for _, dir := range []string{"root", "sbin", "usr"} {
		a.dir(dir)
	}
	a.file("bin/busybox", 0o755, busybox)
	applets, err := output(exec.CommandContext(ctx, k.busybox, "--list"))
	if err != nil {
		return nil, fmt.Errorf("list what busybox can do: %w", err)
	}
	for name := range strings.FieldsSeq(string(applets)) {
		if name != "busybox" && filepath.IsLocal(name) {
			a.link("bin/"+name, "busybox")
		}
	}
	a.link("usr/bin", "/bin")
	base, err := k.addBase(ctx, &a, c)
	if err != nil {
		return nil, err
	}
	a.file("rigvm.json", 0o644, base)
	return a.end(), nil
}

// addBase adds the modules of port and disk, and returns what the agent reads of them.
func (k *kernel) addBase(ctx context.Context, a *archive, c Config) ([]byte, error) {
	boot := struct {
		Modules []string
		Disk    string
	}{}
	names := []string{"virtio_pci", "virtio_console"}
	if c.Disk != nil {
		names = append(names, "virtio_blk", "ext4")
		boot.Disk = guestDiskNode
	}
	added := map[string]bool{}
	for _, name := range names {
		files, err := k.resolve(ctx, Module{Name: name})
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if added[f.path] {
				continue
			}
			added[f.path] = true
			content, err := k.read(f.path)
			if err != nil {
				return nil, err
			}
			in := path.Join(guestModules, f.name())
			a.file(in, 0o644, content)
			boot.Modules = append(boot.Modules, in)
		}
	}
	return json.Marshal(boot)
}

// buildGuest builds the agent. The go command's own cache makes all but the first time quick.
func buildGuest(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "rigvm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "init")
	if err := goBuild(ctx, dir, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", out, guestPackage); err != nil {
		return nil, fmt.Errorf("build the guest's agent: %w", err)
	}
	return os.ReadFile(out)
}

// goBuild runs the go command so that what it builds runs in the guest: without cgo, for Linux on
// amd64. Its temporary files are in a folder of the caller, since a killed one leaves them.
func goBuild(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOTMPDIR="+dir)
	_, err := output(cmd)
	return err
}
