package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/server"
)

// TestRigClean lists and then removes archives that are expired, unfinished, or over the quota.
func TestRigClean(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	dir := archives().Dir
	if err := os.MkdirAll(filepath.Join(dir, "folder.zip"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, days := range map[string]int{"a.zip": 40, "b.zip": 20, "c.zip": 10, ".d.zip.1": 1, ".e.zip.1": 0,
		"notes.txt": 50, ".keep": 50} {
		path, used := filepath.Join(dir, name), time.Now().AddDate(0, 0, -days)
		if err := errors.Join(os.WriteFile(path, make([]byte, 1000), 0o600), os.Chtimes(path, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(want string, args ...string) {
		t.Helper()
		var o, e output
		if code := run(t.Context(), append([]string{"rig", "clean"}, args...), nil, &o, &e); code != exitOK {
			t.Errorf("%q: exit code %d: %s", args, code, e.String())
		}
		text := strings.Join(strings.Fields(o.String()+e.String()), " ")
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%q prints %s, want %s", args, text, want)
		}
	}
	clean(`^FILE WHY archives/a\.zip expired; 1000 B, unused for 40 days archives/\.d\.zip\.1 unfinished; .* ` +
		`2 files, 1\.95 KiB to remove; --yes removes them; 2\.93 KiB left$`)
	clean(`/a\.zip expired.*/b\.zip over the quota; .* 3 files`, "--quota", "2500")
	clean(`"name": "archives/b.zip", "bytes": 1000, .*"why": "expired"`, "--age", "360h", "--json")
	clean(`3 files, .* removed; .* left$`, "--quota", "2500", "--yes")
	clean("^0 files, 0 B removed; 1.95 KiB left$")
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); err != nil || got != ".e.zip.1 .keep c.zip folder.zip notes.txt" {
		t.Errorf("left are %s, %v", got, err)
	}
}

// shell runs command lines of rig on one rig.
type shell struct {
	*testing.T
	address string
}

// says runs a command line, and wants an exit code and parts of both outputs together.
func (s shell) says(line string, code int, parts ...string) string {
	s.Helper()
	var o, e output
	args := append([]string{"rig"}, strings.Fields(line)...)
	got := run(s.Context(), append(args, "--rig", s.address), nil, &o, &e)
	text := o.String() + e.String()
	if got != code {
		s.Errorf("rig %s: exit code %d, want %d\n%s", line, got, code, text)
	}
	for _, part := range parts {
		if !regexp.MustCompile(part).MatchString(strings.Join(strings.Fields(text), " ")) {
			s.Errorf("rig %s does not say %q:\n%s", line, part, text)
		}
	}
	for l := range strings.Lines(o.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 80 && !strings.Contains(line, "--json") {
			s.Errorf("rig %s prints a line of %d columns: %s", line, n, l)
		}
	}
	return o.String()
}

// TestRig manages a rig from the shell: its jobs, runs, devices and baselines.
func TestRig(t *testing.T) {
	t.Parallel()
	device, other := daemontest.New("pixel-7"), daemontest.New("pixel-8")
	free := device.Hold()
	defer free()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{device, other}, nil)
	s := shell{t, answering(t, rig, nil)}
	s.says("status", exitOK, `rig \S+ test`, "you local, role admin", "devices 2 free", "jobs 0 running, 0 waiting",
		"store 0 runs, 0 B; .* free on the disk")
	s.says("runs", exitOK, "^$")

	first := rig.Scene("local", api.StartParams{Devices: []string{"pixel-7"}, Label: "nightly"})
	second := rig.Scene("ci", api.StartParams{Devices: []string{"pixel-7"}})
	done := rig.Scene("local", api.StartParams{Devices: []string{"pixel-8"}, Label: "nightly",
		Browsers: []string{"two"}})
	s.says("devices", exitOK, "DEVICE STATE pixel-7 running, job "+first.ID+"; one two")
	s.says("jobs", exitOK, first.ID+" running",
		second.ID+" waiting for device pixel-7, which is at job "+first.ID+"; ci on pixel-7")
	s.says("cancel "+second.ID[len(second.ID)-4:], exitOK, second.ID+": cancelled")
	s.says("cancel "+second.ID, exitFailure, "has ended already")
	s.says("cancel "+first.ID, exitOK, "cancelled")
	rig.Ended(first.ID)
	rig.Ended(done.ID)
	s.says("jobs --limit 1", exitOK, done.ID+" ok; local on pixel-8; nightly")

	s.says("runs", exitOK, "RUN STATE", done.ID+" ok, two on pixel-8, nightly", first.ID+" failed, pixel-7")
	s.says("runs --limit 1", exitOK, "[1-9] more; use --limit")
	var page api.Runs
	out := s.says("runs --device pixel-8 --test scene --browser two --label nightly --state ok nightly --json", exitOK)
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Runs) != 1 || page.Runs[0].ID != done.ID {
		t.Errorf("%v: %s", err, out)
	}
	s.says("runs --test load", exitOK, "^$")
	s.says("runs --verdict better", exitUsage, "better")
	s.says("pin "+done.ID[len(done.ID)-4:], exitOK, done.ID+": pinned")
	s.says("runs", exitOK, done.ID+" ok, pinned,")
	s.says("delete "+done.ID, exitFailure, "it is pinned: unpin "+done.ID+" first")
	s.says("unpin "+done.ID, exitOK, done.ID+": not pinned")
	s.says("baseline release "+done.ID[len(done.ID)-4:], exitOK, "BASELINE RUN release "+done.ID)
	s.says("delete "+done.ID, exitFailure, `it is pinned as the baseline "release"`)
	s.says("baseline release --remove", exitOK, "^$")
	s.says("baseline", exitOK, "^$")
	s.says("baseline release", exitUsage, "give a name and a run, or a name and --remove")
	s.says("baseline a/b "+done.ID, exitUsage, "is not a name of a baseline")
	s.says("delete "+done.ID[:len(done.ID)-1], exitUsage, "unknown run or set")
	s.says("delete "+done.ID, exitOK, done.ID+": deleted")
	s.says("delete "+done.ID, exitUsage, done.ID+": unknown run or set")

	s.says("reserve pixel-7 --for 2h --note cable", exitOK, "device pixel-7 until .* key [A-Z0-9]+")
	s.says("reserve pixel-7", exitFailure, "device pixel-7 is reserved for local")
	s.says("devices", exitOK, "pixel-7 reserved; reserved for local until .*: cable; one two")
	s.says("release pixel-7", exitOK, "pixel-7: released")
	s.says("quarantine pixel-7 --reason loose", exitOK, "pixel-7 quarantined; quarantine: loose; one two")
	s.says("quarantine pixel-7 --lift", exitOK, "pixel-7 free; one two")
	lock, err := rig.Store.Locks.Take(t.Context(), "pixel-7", false)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	rig.Until("the device to be in use", func() bool { return rig.Devices()[0].InUseBy != "" })
	s.says("devices", exitOK, "pixel-7 in use by process [0-9]+ \\(.+ of .+\\); one two")
	waits := rig.Scene("local", api.StartParams{Devices: []string{"pixel-7"}})
	rig.Until("the job to wait", func() bool { return rig.Jobs(false)[0].Reason != "" })
	s.says("jobs", exitOK, waits.ID+" waiting for device pixel-7, which is in use by process [0-9]+ ")
	s.says("quarantine pixel-9", exitUsage, "unknown device .*pixel-9.*; did you mean pixel-7\\?")
}

// TestRigRefuses checks the errors of an unreachable rig, of tokens, names and flags.
func TestRigRefuses(t *testing.T) {
	t.Parallel()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
	s := shell{t, answering(t, rig, nil)}
	tokens, err := server.OpenTokens(rig.Dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[api.Role]string{"": "eid_wrong", api.View: "", api.Run: ""}
	for role, secret := range files {
		if role != "" {
			if secret, err = tokens.Add(string(role), role, 0, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		files[role] = filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(files[role], []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job, again := rig.Scene("ci", api.StartParams{}), rig.Scene("ci", api.StartParams{})
	s.says("cancel "+job.ID[:4], exitUsage,
		job.ID[:4]+" is ambiguous: "+min(job.ID, again.ID)+", "+max(job.ID, again.ID))
	s.says("cancel "+job.ID+"x", exitUsage, `unknown job "`+job.ID+`x"; did you mean`)
	s.says("cancel x", exitUsage, `unknown job "x"`)
	s.says("pin nothing", exitUsage, "nothing: unknown run or set")
	s.says("pin ../../etc", exitUsage, "not the ID of a run or a set")

	for role, file := range files {
		with := " --token-file " + file
		switch role {
		case "":
			s.says("status"+with, exitFailure, "the rig says: .*token.*; give it by --token-file or EIDETICKER_TOKEN")
		case api.View:
			s.says("status"+with, exitOK, "you view, role view")
			s.says("reserve local"+with, exitFailure, "device.reserve needs the role run, and the token has view")
		default:
			s.says("cancel "+job.ID+with, exitFailure,
				"job "+job.ID+" is of ci: only its owner and admins may end it")
			s.says("quarantine local"+with, exitFailure,
				"device.quarantine needs the role admin, and the token has run")
			s.says("clean --yes"+with, exitFailure, "store.clean needs the role admin, and the token has run")
		}
	}

	s.says("clean", exitOK, "0 files, 0 B removed; 0 B left")
	for line, why := range map[string]string{
		"clean a":                 "rig clean takes no name",
		"status --yes":            "--yes cannot be used with rig status",
		"reboot":                  "must be one of",
		"cancel":                  "rig cancel needs a job",
		"cancel a b":              "rig cancel takes one name",
		"status local":            "rig status takes no name",
		"devices --test scene":    "--test cannot be used with rig devices",
		"runs --limit 1000":       "--limit must be 1 to 200",
		"reserve local --for=48h": "for_ns is 48h0m0s: must be over 0 and at most 24h0m0s",
	} {
		s.says(line, exitUsage, why)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := shell{t, "http://" + closed.Addr().String()}
	closed.Close()
	gone.says("status", exitFailure,
		"rig status: talk to the rig at 127.0.0.1:[0-9]+: .*refused; check that eideticker serve runs there")
	shell{t, "rig-3"}.says("status", exitUsage, "is not an address of a rig")
	var o, e output
	if code := run(t.Context(), []string{"rig", "status"}, nil, &o, &e); code != exitUsage ||
		!strings.Contains(e.String(), "rig status needs --rig") {
		t.Errorf("exit code %d: %s", code, e.String())
	}
}
