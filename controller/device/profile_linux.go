package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	profilePrefix = "eideticker-browser-"
	ownerFile     = "owner.lock" // held locked while its owner lives
	// Folders younger than this may not have been locked yet.
	settled = time.Minute
)

// profile is a browser's new, private folder.
type profile struct {
	dir  string
	lock *os.File
}

// profileBase returns where profiles are made. Browsers put sockets into them, whose paths may have
// 107 bytes.
func profileBase() string {
	if dir := os.TempDir(); len(dir) <= 30 {
		return dir
	}
	return "/tmp"
}

// newProfile makes a folder for one browser, and removes those whose owners were killed.
func newProfile(base string, files map[string]string) (*profile, error) {
	removeOrphans(base)
	dir, err := os.MkdirTemp(base, profilePrefix)
	if err != nil {
		return nil, fmt.Errorf("make profile folder: %w", err)
	}
	p := &profile{dir: dir}
	if p.lock, err = lockOwner(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("lock profile folder: %w", err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			p.remove()
			return nil, fmt.Errorf("write browser's preferences: %w", err)
		}
	}
	return p, nil
}

// lockOwner takes the lock by which a folder's owner is known to live.
func lockOwner(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// unlock ends a lock before its file is closed. A process that is being started has a copy of the
// file.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// environment is the program's own, without what leads out of the folder or to another display.
func (p *profile) environment(display string) []string {
	drop := []string{
		"DISPLAY=", "WAYLAND_DISPLAY=", "DBUS_SESSION_BUS_ADDRESS=", "HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=",
		"XDG_DATA_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "TMPDIR=", "CHROMIUM_FLAGS=", "GDK_SCALE=",
		"GDK_DPI_SCALE=", "QT_SCALE_FACTOR=", "MOZ_ENABLE_WAYLAND=",
		// Input methods: a user's desktop is not reachable from here, and without its method dead
		// keys do not work. One of the toolkit's own would change typed text.
		"GTK_IM_MODULE=", "QT_IM_MODULE=", "XMODIFIERS=", "IBUS_ADDRESS=",
		// TLS secrets are logged by our servers for tests that request it, not at a path from the
		// user's shell
		"SSLKEYLOGFILE=",
	}
	var env []string
next:
	for _, v := range os.Environ() {
		for _, d := range drop {
			if strings.HasPrefix(v, d) {
				continue next
			}
		}
		env = append(env, v)
	}
	if _, set := os.LookupEnv("XAUTHORITY"); !set {
		// It would be looked for at home, which is another one now.
		if home, err := os.UserHomeDir(); err == nil {
			env = append(env, "XAUTHORITY="+filepath.Join(home, ".Xauthority"))
		}
	}
	return append(env, "DISPLAY="+display, "HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "XDG_CACHE_HOME="+p.dir,
		"XDG_DATA_HOME="+p.dir, "XDG_STATE_HOME="+p.dir, "XDG_RUNTIME_DIR="+p.dir, "TMPDIR="+p.dir,
		"DBUS_SESSION_BUS_ADDRESS=disabled:")
}

// remove removes the folder; a helper that is just dying may still write into it.
func (p *profile) remove() {
	for range 20 {
		if os.RemoveAll(p.dir) == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	unlock(p.lock)
}

// removeOrphans removes folders of ours whose owner ended without doing so.
func removeOrphans(in string) {
	dirs, err := filepath.Glob(filepath.Join(in, profilePrefix+"*"))
	if err != nil {
		return // the name of the temporary folder is not a pattern: only a clean-up is lost
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < settled {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() {
			continue
		}
		lock, err := lockOwner(dir)
		if err != nil {
			continue // its owner lives
		}
		_ = os.RemoveAll(dir)
		unlock(lock)
	}
}
