package device

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A browser that plays an untrusted test executes the test's input and its pages' scripts. It must
// not read files of this machine, which addresses, dialogs and developer tools could open. For its
// network see egress_linux.go. Both browsers have policies for this. Administrators write them into
// system folders, which apply to all browsers of the machine. So they are given in other ways here:
//
// Chromium stores a policy's value as a preference, and reads it from its profile unless a policy
// sets it.
//
// Firefox reads policies beside its program. So it gets a folder with the policies, a copy of the
// small started program, and links to the rest.
//
// Note: a mount namespace that hides files would cover everything that a browser does. But it needs
// privileges that the service's unit drops.

// Policies of browsers that play untrusted tests.
var (
	//go:embed untrusted_chromium.json
	untrustedChromium string
	//go:embed untrusted_firefox.json
	untrustedFirefox string
)

// chromiumPolicies are where the system has policies for Chromium, which go before ours, file by
// file.
func chromiumPolicies() []string {
	return []string{"/etc/chromium/policies/managed", "/etc/chromium-browser/policies/managed",
		"/etc/opt/chrome/policies/managed"}
}

// firefoxPolicies are those for Firefox. If one of these files is there, ours is not read at all.
func firefoxPolicies() []string {
	return []string{"/etc/firefox/policies/policies.json", "/etc/firefox-esr/policies/policies.json"}
}

// keptChromium returns the kind whose profile keeps it from files.
func keptChromium(k kind, policies []string) (kind, error) {
	if err := silent(policies, "URLBlocklist", "URLAllowlist", "URLBlacklist", "URLWhitelist",
		"AllowFileSelectionDialogs", "DeveloperTools"); err != nil {
		return k, fmt.Errorf("keep tests of others from files: %w", err)
	}
	preferences, err := merged(k.files["Default/Preferences"], untrustedChromium)
	if err != nil {
		return k, err
	}
	k.files = maps.Clone(k.files)
	k.files["Default/Preferences"] = preferences
	k.files["Local State"] = `{"select_file_dialogs": {"allowed": false}}`
	return k, nil
}

// silent reports whether no policy of the system's for Chromium has one of some names.
func silent(policies []string, names ...string) error {
	for _, dir := range policies {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return err
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				return fmt.Errorf("read this machine's policies, which override ours: %w", err)
			}
			for _, ours := range names {
				if strings.Contains(string(text), ours) {
					return fmt.Errorf("%s has %s, which overrides ours", name, ours)
				}
			}
		}
	}
	return nil
}

// merged is a JSON object with the members of another one in the place of its own.
func merged(base, over string) (string, error) {
	var all, more map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(base), &all), json.Unmarshal([]byte(over), &more)); err != nil {
		return "", err
	}
	maps.Copy(all, more)
	text, err := json.Marshal(all)
	return string(text), err
}

// keptFirefox makes a folder for the program at path, with a policy, and returns the program to
// start.
func keptFirefox(path, folder, policy string, policies []string) (string, error) {
	for _, name := range policies {
		if _, err := os.Lstat(name); err == nil {
			return "", fmt.Errorf("start Firefox with a policy: %s overrides ours", name)
		}
	}
	program, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	from := filepath.Dir(program)
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(from, "libxul.so")); err != nil {
		return "", fmt.Errorf("start Firefox with a policy: %s is a launcher, not Firefox itself: %w", path,
			errors.ErrUnsupported)
	}
	ours := filepath.Join(folder, "distribution")
	if err := os.MkdirAll(ours, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(ours, "policies.json"), []byte(policy), 0o600); err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() == "distribution" || e.Name() == filepath.Base(program) {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(folder, e.Name())); err != nil {
			return "", err
		}
	}
	own := filepath.Join(folder, filepath.Base(program))
	return own, copyProgram(own, program)
}

// copyProgram copies a program that starts at once. Nothing else starts meanwhile: it would have a
// copy of the open file, and a program that is open for writing does not start.
func copyProgram(to, from string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
