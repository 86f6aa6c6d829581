//go:build linux

package rigvm

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// metaPackage depends on the newest kernel of the Debian release.
const metaPackage = "linux-image-amd64"

// debPackage is what apt's index, which Debian signs, says of a package.
type debPackage struct {
	name, version, sha256 string
	bytes                 int64
}

// key names a package in the cache.
func (d debPackage) key() string {
	return d.name + "_" + strings.ReplaceAll(d.version, ":", "%3a") + "_" + d.sha256[:16]
}

// apt runs apt's programs, with the system's package lists or with ones of our own.
type apt struct {
	programs
	options []string // "-o", "Dir::State::Lists=…"
}

// systemLists returns an apt that reads the system's lists. What apt makes of them, which takes a
// second, is kept below dir.
func systemLists(p programs, dir string) (apt, error) {
	a := apt{programs: p, options: []string{"-o", "Dir::Cache::pkgcache=" + filepath.Join(dir, "apt", "system.bin"),
		"-o", "Dir::Cache::srcpkgcache="}}
	return a, os.MkdirAll(filepath.Join(dir, "apt"), 0o755)
}

// ownLists returns an apt that keeps its lists below dir. It reads the system's sources and keys,
// and needs no privilege.
func ownLists(p programs, dir string) (apt, error) {
	a := apt{programs: p}
	for option, sub := range map[string]string{
		"Dir::State::Lists": "lists", "Dir::Cache": "cache", "Dir::Cache::archives": "archives",
	} {
		path := filepath.Join(dir, "apt", sub)
		if err := os.MkdirAll(filepath.Join(path, "partial"), 0o755); err != nil {
			return a, err
		}
		a.options = append(a.options, "-o", option+"="+path)
	}
	return a, nil
}

// run runs a program of apt and returns what it writes.
func (a apt) run(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	// As root, apt drops to a user that may not write where we want the file.
	args = append(append([]string{"-q", "-o", "APT::Sandbox::User=root"}, a.options...), args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	return output(cmd)
}

// update fetches the lists.
func (a apt) update(ctx context.Context) error {
	_, err := a.run(ctx, "", a.aptGet, "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Languages=none", "update")
	return err
}

// resolve finds the kernel that the meta package depends on.
func (a apt) resolve(ctx context.Context) (debPackage, error) {
	meta, err := a.show(ctx, metaPackage)
	if err != nil {
		return debPackage{}, err
	}
	name, version, err := parseDepends(meta["Depends"])
	if err != nil {
		return debPackage{}, err
	}
	fields, err := a.show(ctx, name+"="+version)
	if err != nil {
		return debPackage{}, err
	}
	return parsePackage(fields)
}

// show returns the fields of one package.
func (a apt) show(ctx context.Context, pkg string) (map[string]string, error) {
	out, err := a.run(ctx, "", a.aptCache, "show", "--no-all-versions", pkg)
	if err != nil {
		return nil, fmt.Errorf("ask apt for %s: %w", pkg, err)
	}
	fields := parseFields(out)
	if fields["Package"] == "" {
		return nil, fmt.Errorf("ask apt for %s: it knows none", pkg)
	}
	return fields, nil
}

// download fetches a package into dir and returns its path. Its content is not checked here.
func (a apt) download(ctx context.Context, d debPackage, dir string) (string, error) {
	if _, err := a.run(ctx, dir, a.aptGet, "download", d.name+"="+d.version); err != nil {
		return "", fmt.Errorf("download %s: %w", d.name, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("download %s: apt-get left %d files", d.name, len(found))
	}
	return found[0], nil
}

// parseFields reads the first stanza of an index; lines that continue a field are left out.
func parseFields(text []byte) map[string]string {
	fields := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" && len(fields) > 0 {
			break
		}
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

var (
	kernelDependency = regexp.MustCompile(`\b(linux-image-[0-9][a-z0-9.+-]*) \(= ([A-Za-z0-9.+:~-]+)\)`)
	sha256Hex        = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func parseDepends(depends string) (name, version string, err error) {
	m := kernelDependency.FindStringSubmatch(depends)
	if m == nil {
		return "", "", fmt.Errorf("%s depends on %q, which names no kernel", metaPackage, depends)
	}
	return m[1], m[2], nil
}

// maxPackageBytes bounds a download: a kernel of Debian 12 has 70 MB.
const maxPackageBytes = 1 << 30

func parsePackage(fields map[string]string) (debPackage, error) {
	size, err := strconv.ParseInt(fields["Size"], 10, 64)
	d := debPackage{fields["Package"], fields["Version"], fields["SHA256"], size}
	switch {
	case err != nil || size <= 0 || size > maxPackageBytes:
		return d, fmt.Errorf("apt gives %s a size of %q", d.name, fields["Size"])
	case !sha256Hex.MatchString(d.sha256):
		return d, fmt.Errorf("apt gives %s the SHA-256 %q", d.name, d.sha256)
	}
	return d, nil
}

// output runs a program and returns what it writes to standard output; an error has the end of its
// standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout bytes.Buffer
	stderr := &console{}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(stderr.text()); said != "" {
			err = fmt.Errorf("%w: %s", err, said[max(0, len(said)-tailBytes):])
		}
		return nil, fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	return stdout.Bytes(), nil
}
