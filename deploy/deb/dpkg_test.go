package main

import (
	"debug/buildinfo"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dpkg installs packages into an empty root without a chroot. Scripts of packages get its path.
type dpkg struct {
	t       *testing.T
	root    string
	program []string
}

func newDpkg(t *testing.T) *dpkg {
	t.Helper()
	d := &dpkg{t: t, root: t.TempDir(), program: []string{need(t, "dpkg", "dpkg")}}
	need(t, "deb-systemd-helper", "init-system-helpers")
	if os.Geteuid() != 0 {
		d.program = append([]string{need(t, "fakeroot", "fakeroot")}, d.program...)
	}
	admin := d.in("var/lib/dpkg")
	for _, dir := range []string{"info", "updates", "triggers", "parts"} {
		if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(admin, "status"), "")
	put(t, filepath.Join(admin, "available"), "")
	return d
}

func (d *dpkg) in(path string) string { return filepath.Join(d.root, path) }

// run calls dpkg. The libraries that the program needs are not there, and whoever runs this may not
// be root.
func (d *dpkg) run(args ...string) string {
	d.t.Helper()
	all := append(d.program[1:len(d.program):len(d.program)], "--root="+d.root, "--log="+d.in("dpkg.log"),
		"--force-script-chrootless", "--force-depends", "--force-not-root", "--force-bad-path")
	cmd := exec.CommandContext(d.t.Context(), d.program[0], append(all, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "PATH="+os.Getenv("PATH")+
		":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("dpkg %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (d *dpkg) status() string {
	d.t.Helper()
	return output(d.t, "dpkg-query", "--admindir="+d.in("var/lib/dpkg"), "-W", "-f", "${Status}", "eideticker")
}

// helper does what an administrator does with systemctl.
func (d *dpkg) helper(verb string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "systemctl", "--root="+d.root, verb, "eideticker.service")
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("systemctl %s: %v\n%s", verb, err, out)
	}
}

// linked wants the service to be started with the machine, or not.
func (d *dpkg) linked(path string, want bool) {
	d.t.Helper()
	if _, err := os.Lstat(d.in(path)); (err == nil) != want {
		d.t.Errorf("%s: %v", path, err)
	}
}

func versionOf(t *testing.T, program string) string {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return info.Main.Version
}

// owners returns the packages of the libraries that a program names itself: those that they name
// are their packages' matter.
func owners(t *testing.T, program string) map[string]string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	of := map[string]string{} // by file, without its folder: /lib is a link to /usr/lib
	for line := range strings.Lines(output(t, "ldd", program)) {
		name, path, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok || !slices.Contains(names, name) {
			continue
		}
		path, _, _ = strings.Cut(path, " ")
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		files, of[filepath.Base(real)] = append(files, "*/"+filepath.Base(real)), name
	}
	all := map[string]string{}
	for line := range strings.Lines(output(t, "dpkg", append([]string{"-S"}, files...)...)) {
		owner, path, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if library := of[filepath.Base(path)]; ok && library != "" {
			all[library], _, _ = strings.Cut(owner, ":")
		}
	}
	if len(all) != len(names) {
		t.Fatalf("of %q, the packages are known of %v", names, all)
	}
	return all
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func eachFile(t *testing.T, root string, see func(path string, mode fs.FileMode)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err == nil {
			see(path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
