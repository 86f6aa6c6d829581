package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
)

// TestPackage makes the package of the program. It installs it into a root of its own with dpkg,
// and checks the result.
//
// Fault: A box's package is upgraded, removed or purged
func TestPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the whole program")
	}
	if runtime.GOOS != "linux" {
		t.Skip("packages are for Linux")
	}
	need(t, "dpkg-shlibdeps", "dpkg-dev")
	need(t, "dpkg-deb", "dpkg")
	programs, err := built.Programs()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	first, err := write(t.Context(), programs, "..", out)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("same twice", func(t *testing.T) { sameTwice(t, programs, first) })
	t.Run("control", func(t *testing.T) { control(t, programs, first) })
	t.Run("unpacked", func(t *testing.T) { unpacked(t, first) })
	t.Run("installed", func(t *testing.T) { installed(t, programs, first) })
}

func sameTwice(t *testing.T, programs [2]string, first string) {
	second, err := write(t.Context(), programs, "..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, first), read(t, second)) {
		t.Error("two packages of one program differ")
	}
	if filepath.Base(first) != filepath.Base(second) {
		t.Errorf("one is %s, the other %s", first, second)
	}
}

// control holds what the package says of itself against the programs. Its libraries are those of
// eideticker-media.
func control(t *testing.T, programs [2]string, deb string) {
	program, media := programs[0], programs[1]
	field := func(name string) string { return strings.TrimSpace(output(t, "dpkg-deb", "--field", deb, name)) }
	want, err := debianVersion(versionOf(t, program))
	if err != nil || field("Version") != want || field("Package") != "eideticker" {
		t.Errorf("package %s %s, want version %s (%v)", field("Package"), field("Version"), want, err)
	}
	if got, want := field("Architecture"), strings.TrimSpace(output(t, "dpkg", "--print-architecture")); got != want {
		t.Errorf("architecture %s, want %s", got, want)
	}
	p, err := describe(media)
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := p.libraries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	depends := strings.Split(field("Depends"), ", ")
	for _, want := range append(libraries, "systemd", "udev") {
		if !slices.Contains(depends, want) {
			t.Errorf("it does not depend on %s, only on %q", want, depends)
		}
	}
	for library, owner := range owners(t, media) {
		if !slices.ContainsFunc(depends, func(d string) bool { return d == owner || strings.HasPrefix(d, owner+" ") }) {
			t.Errorf("%s is of the package %s, on which it does not depend: %q", library, owner, depends)
		}
	}
	if files := strings.Fields(output(t, "dpkg-deb", "--info", deb, "conffiles")); !slices.Equal(files,
		[]string{"/etc/eideticker/devices.yaml", "/etc/eideticker/eideticker.toml",
			"/etc/udev/rules.d/61-eideticker-capture.rules"}) {
		t.Errorf("conffiles are %q", files)
	}
}

// unpacked looks at the package's files in a root that has a system's own units.
func unpacked(t *testing.T, deb string) {
	root := t.TempDir()
	output(t, "dpkg-deb", "-x", deb, root)
	eachFile(t, root, func(path string, mode os.FileMode) {
		if mode&0o022 != 0 || mode&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", path, mode)
		}
	})
	t.Run("unit", func(t *testing.T) { unit(t, root) })
	t.Run("share", func(t *testing.T) { share(t, root) })
	t.Run("users", func(t *testing.T) { users(t, root) })
	t.Run("doctor", func(t *testing.T) { doctor(t, filepath.Join(root, "usr/bin/eideticker")) })
}

// unit has systemd look at the service.
func unit(t *testing.T, root string) {
	analyze := need(t, "systemd-analyze", "systemd")
	const units = "/usr/lib/systemd/system"
	// What other units the service names has to be there too.
	output(t, "cp", "-a", "--no-clobber", units+"/.", filepath.Join(root, units))
	verify := func(changed func(string) string) string {
		t.Helper()
		dir := filepath.Join(root, units)
		text := changed(string(read(t, "../box/eideticker.service")))
		if err := os.WriteFile(filepath.Join(dir, "eideticker.service"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", "--root="+root,
			"eideticker.service").CombinedOutput()
		if err != nil && len(said) == 0 {
			t.Fatal(err)
		}
		return string(said)
	}
	if said := verify(func(s string) string { return s }); said != "" {
		t.Errorf("systemd-analyze verify:\n%s", said)
	}
	text := string(read(t, "../box/eideticker.service"))
	for _, want := range []string{"MemoryMax=80%", "OOMPolicy=continue"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("the unit does not say %s: a run may take all memory of the box", want)
		}
	}
	// It would have said so.
	for _, tc := range []struct{ old, new, want string }{
		{"ExecStart=/usr/bin/eideticker", "ExecStart=/usr/bin/nothing", "/usr/bin/nothing"},
		{"ProtectSystem=strict", "ProtectSistem=strict", "ProtectSistem"},
		{"WatchdogSec=30s", "WatchdogSec=never", "never"},
		{"MemoryMax=80%", "MemoryMax=800%", "memory limit"},
	} {
		if said := verify(func(s string) string { return strings.Replace(s, tc.old, tc.new, 1) }); !strings.Contains(
			said, tc.want) {
			t.Errorf("with %s it says %q", tc.new, said)
		}
	}
	verify(func(s string) string { return s })
	// With what makes networks for tests, it has what that takes.
	with := filepath.Join(root, "etc/systemd/system/eideticker.service.d")
	if err := os.MkdirAll(with, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(with, "network.conf")
	for text, want := range map[string]string{string(read(t, "../box/network.conf")): "",
		"[Service]\nRestrictNamespaces=mount\n": "mount"} {
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if said := verify(func(s string) string { return s }); (want == "") != (said == "") ||
			!strings.Contains(said, want) {
			t.Errorf("systemd-analyze verify says %q of\n%s", said, text)
		}
	}
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	// 40 of 100 is what this needs: the network, cameras, browsers with namespaces of their own.
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--no-pager", "--offline=true",
		"--threshold=40", "--root="+root, "eideticker.service").CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// share reads the man pages and the completions where man and shells look for them.
func share(t *testing.T, root string) {
	in := func(name string) string { return filepath.Join(root, "usr/share", name) }
	help := output(t, filepath.Join(root, "usr/bin/eideticker"), "--help")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+)`).FindAllStringSubmatch(help, -1)
	if len(commands) < 20 {
		t.Fatalf("the help lists %d commands:\n%s", len(commands), help)
	}
	for _, c := range commands {
		if page := manPage(t, in("man/man1/eideticker-"+c[1]+".1.gz")); !strings.Contains(page, "eideticker "+c[1]) {
			t.Errorf("the page of %s is\n%s", c[1], page)
		}
	}
	page := manPage(t, in("man/man1/eideticker.1.gz"))
	for _, want := range []string{"NAME", "run URL", "EXIT STATUS", "130", "NO_COLOR"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the program lacks %s:\n%s", want, page)
		}
	}
	bash := in("bash-completion/completions/eideticker")
	if got := output(t, "bash", "-c", `source "$1"; COMP_WORDS=(eideticker re); COMP_CWORD=1; _eideticker; `+
		`echo ${COMPREPLY[*]}`, "bash", bash); got != "report record repair\n" {
		t.Errorf("bash completes re to %q", got)
	}
	for name, want := range map[string]string{"zsh/vendor-completions/_eideticker": "#compdef eideticker\n",
		"fish/vendor_completions.d/eideticker.fish": "# fish completion for eideticker\n"} {
		if text := string(read(t, in(name))); !strings.HasPrefix(text, want) {
			t.Errorf("%s begins with %.40q", name, text)
		}
	}
}

// manPage returns a page as man shows it, or as its compressed source where man is not installed.
func manPage(t *testing.T, path string) string {
	t.Helper()
	packed := read(t, path)
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2}) { // no name, no time, best compression
		t.Errorf("%s is not packed as by gzip -9n: % x", path, packed[:min(10, len(packed))])
	}
	if _, err := exec.LookPath("man"); err != nil {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(`\-`, "-", `\fB`, "", `\fR`, "").Replace(string(text))
	}
	cmd := exec.CommandContext(t.Context(), "man", "--warnings", "-l", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=100", "MAN_KEEP_FORMATTING=", "MANROFFOPT=")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	page, err := cmd.Output()
	if err != nil || wrong.Len() > 0 {
		t.Errorf("man -l %s: %v\n%s", path, err, &wrong)
	}
	return string(page)
}

// users has systemd make the user and the folders.
func users(t *testing.T, root string) {
	output(t, need(t, "systemd-sysusers", "systemd"), "--root="+root, "eideticker.conf")
	passwd := string(read(t, filepath.Join(root, "etc/passwd")))
	user := regexp.MustCompile(`(?m)^eideticker:[^:]*:[0-9]+:[0-9]+:[^:]*:/var/lib/eideticker:/usr/sbin/nologin$`)
	if !user.MatchString(passwd) {
		t.Errorf("passwd is %q", passwd)
	}
	groups := string(read(t, filepath.Join(root, "etc/group")))
	for _, name := range []string{"video", "input", "uinput", "gpio", "plugdev"} {
		if !regexp.MustCompile(`(?m)^` + name + `:[^:]*:[0-9]+:(.*,)?eideticker(,.*)?$`).MatchString(groups) {
			t.Errorf("the user is not in the group %s:\n%s", name, groups)
		}
	}
	if os.Geteuid() != 0 {
		return // the folders are another user's
	}
	output(t, need(t, "systemd-tmpfiles", "systemd"), "--root="+root, "--create", "eideticker.conf")
	for path, want := range map[string]os.FileMode{"var/lib/eideticker": 0o750, "run/eideticker": 0o700} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info, err, want)
		}
	}
}

// doctor has the packed program look at this machine.
func doctor(t *testing.T, program string) {
	cmd := exec.CommandContext(t.Context(), program, "doctor", "--json", "--dir", t.TempDir(), "--disk-time", "1s")
	var said, why bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &why
	err := cmd.Run() // it may well find that this machine is not fit
	var answer struct {
		OK       bool `json:"ok"`
		Findings []struct {
			ID string `json:"id"`
		} `json:"findings"`
	}
	if json.Unmarshal(said.Bytes(), &answer) != nil || len(answer.Findings) < 10 || answer.OK != (err == nil) {
		t.Errorf("doctor: %v\n%s\n%s", err, said.Bytes(), why.Bytes())
	}
}

// installed takes the package through its life in a root of its own: installed, edited and
// upgraded; removed and purged.
func installed(t *testing.T, programs [2]string, deb string) {
	d := newDpkg(t)
	d.run("--install", deb)
	if got := d.status(); got != "install ok installed" {
		t.Fatalf("it is %q", got)
	}
	if !strings.Contains(string(read(t, d.in("etc/passwd"))), "eideticker:") {
		t.Error("there is no user")
	}
	d.linked("etc/systemd/system/multi-user.target.wants/eideticker.service", true)

	const config = "etc/eideticker/eideticker.toml"
	edited := "# mine\n" + string(read(t, d.in(config)))
	put(t, d.in(config), edited)
	// A newer package that has another configuration, and more to say.
	from := t.TempDir()
	output(t, "cp", "-a", "../box", "../ci", from)
	put(t, filepath.Join(from, "box/eideticker.toml"), string(read(t, "../box/eideticker.toml"))+"# newer\n")
	newer, err := write(t.Context(), programs, from, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.run("--force-confdef", "--force-confold", "--install", newer)
	if got := string(read(t, d.in(config))); got != edited {
		t.Errorf("an upgrade made of the configuration %q", got)
	}
	if got := string(read(t, d.in(config+".dpkg-dist"))); !strings.HasSuffix(got, "# newer\n") {
		t.Errorf("the newer configuration is %q", got)
	}

	// What the administrator turned off stays off.
	d.helper("disable")
	d.run("--force-confold", "--install", newer)
	d.linked("etc/systemd/system/multi-user.target.wants/eideticker.service", false)

	run := d.in("var/lib/eideticker/runs/20261121-201530-framerate-k7f2/run.json")
	if err := os.MkdirAll(filepath.Dir(run), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, run, "{}")
	d.run("--remove", "eideticker")
	if got := string(read(t, d.in(config))); got != edited {
		t.Errorf("after it was removed, the configuration is %q", got)
	}
	if said := d.run("--purge", "eideticker"); !strings.Contains(said, "stay in /var/lib/eideticker") {
		t.Errorf("nobody is told of recordings that stay: %s", said)
	}
	for _, gone := range []string{config, "usr/bin/eideticker", "usr/bin/eideticker-media",
		"usr/lib/systemd/system/eideticker.service", "etc/systemd/system/multi-user.target.wants/eideticker.service"} {
		if _, err := os.Lstat(d.in(gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	read(t, run)
}
