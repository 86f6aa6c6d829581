package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// program is the packaged program.
type program struct {
	path    string    // absolute
	version string    // in Debian's form
	arch    string    // in Go's words
	built   time.Time // when its commit was made
}

// describe reads what the Go linker wrote into a program.
func describe(path string) (p program, err error) {
	if p.path, err = filepath.Abs(path); err != nil {
		return p, err
	}
	info, err := buildinfo.ReadFile(p.path)
	if err != nil {
		return p, fmt.Errorf("read the build information: %w", err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != "linux" {
		return p, fmt.Errorf("%s is a program for %s, and the package is for Linux", path, settings["GOOS"])
	}
	p.arch = settings["GOARCH"]
	if p.version, err = debianVersion(info.Main.Version); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if p.built, err = time.Parse(time.RFC3339, settings["vcs.time"]); err != nil {
		return p, fmt.Errorf("%s does not tell its commit: build it in a git checkout, with -buildvcs=true", path)
	}
	return p, nil
}

var goVersion = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)(?:-([0-9A-Za-z.-]+))?(\+[0-9A-Za-z.]+)?$`)

// debianVersion converts a Go version to one that dpkg orders in the same way. A pre-release part
// follows a tilde, which dpkg sorts before the end. Examples are v1.2.0-rc.1 and the commits before
// it. A hyphen would begin a revision of the package.
func debianVersion(v string) (string, error) {
	m := goVersion.FindStringSubmatch(v)
	if m == nil {
		return "", fmt.Errorf("its version is %q: build it in a git checkout, with -buildvcs=true", v)
	}
	version := m[1]
	if m[2] != "" {
		version += "~" + strings.ReplaceAll(m[2], "-", ".")
	}
	return version + m[3], nil
}

// linked returns the shared libraries that a program names.
func (p program) linked() ([]string, error) {
	f, err := elf.Open(p.path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.path, err)
	}
	list, err := f.ImportedLibraries()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.path, err)
	}
	return list, nil
}

// share has the program write its man pages and completions into a new folder.
func (p program) share(ctx context.Context) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "eideticker-share-"); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, p.path, "completion", "all", "-o", dir).CombinedOutput(); err != nil {
		err = fmt.Errorf("write man pages and completions: %w: %s", err, bytes.TrimSpace(out))
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// libraries returns the packages that a program needs for what it links, each with the least
// version that will do.
func (p program) libraries(ctx context.Context) (list []string, err error) {
	linked, err := p.linked()
	if err != nil {
		return nil, err
	}
	if len(linked) == 0 {
		return nil, fmt.Errorf("%s was built without cgo and encodes no videos: build it with CGO_ENABLED=1", p.path)
	}
	tool, err := exec.LookPath("dpkg-shlibdeps")
	if err != nil {
		return nil, fmt.Errorf("%w: install it with apt-get install --no-install-recommends dpkg-dev", err)
	}
	dir, err := os.MkdirTemp("", "eideticker-deb-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// It reads the names of the packages that are built, and looks for nothing else.
	control := filepath.Join(dir, "debian", "control")
	if err := errors.Join(os.Mkdir(filepath.Dir(control), 0o755),
		os.WriteFile(control, []byte("Source: eideticker\n\nPackage: eideticker\nArchitecture: any\n"),
			0o644)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, tool, "-O", "-e"+p.path)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dpkg-shlibdeps: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return parseSubstvar(string(out))
}

// parseSubstvar reads "shlibs:Depends=libc6 (>= 2.34), libgcc-s1 (>= 3.0)".
func parseSubstvar(out string) ([]string, error) {
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "shlibs:Depends="); ok && value != "" {
			return strings.Split(value, ", "), nil
		}
	}
	return nil, fmt.Errorf("dpkg-shlibdeps tells no packages: %.200q", out)
}
