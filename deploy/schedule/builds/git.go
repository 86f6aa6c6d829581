package builds

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// Bounds of builds of commits.
const (
	maxCommits = 200 // the newest of the branch
	buildTime  = 2 * time.Hour
	maxOutput  = 64 << 10 // bytes that are kept of a command's output
	killTime   = 10 * time.Second
)

// commits are those of a branch of a repository on this machine. A command in the rig's own
// configuration builds them. It runs in a clone of the repository at the commit, and
// EIDETICKER_REVISION is its ID. The feed does not fetch.
type commits struct{ config.Feed }

func (c commits) list(ctx context.Context, _ map[string]api.Build) ([]api.Build, error) {
	ctx, cancel := context.WithTimeout(ctx, indexTime)
	defer cancel()
	log := func(format string) ([]byte, error) {
		return run(ctx, "", "", "git", "-C", c.Dir, "log", "--first-parent", "--format="+format, "-n",
			strconv.Itoa(maxCommits), cmp.Or(c.Branch, "HEAD"), "--")
	}
	out, err := log("%H %ct %P")
	if err != nil {
		return nil, err
	}
	all, err := parseCommits(out)
	if err != nil {
		return nil, err
	}
	out, err = log("%H %<(120,trunc)%s") // subjects have any length, so the output may be cut
	subjects := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, text, _ := strings.Cut(line, " ")
		subjects[id] = subject(text)
	}
	for i := range all {
		all[i].Subject = subjects[all[i].Revision]
	}
	return all, err
}

// parseCommits parses lines of an ID, a time in seconds and the parents, newest first.
func parseCommits(out []byte) (all []api.Build, err error) {
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 2 {
			return nil, fmt.Errorf("git log prints %.100q", line)
		}
		at, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("git log prints %.100q", line)
		}
		b := api.Build{Name: f[0][:min(12, len(f[0]))], Revision: f[0], WallNS: at * int64(time.Second)}
		if len(f) > 2 {
			b.Parent = f[2]
		}
		all = append(all, b)
	}
	slices.Reverse(all)
	return all, nil
}

func (c commits) open(ctx context.Context, b api.Build, work string) (opened, error) {
	if len(c.Command) == 0 {
		return opened{}, errors.New("this machine's configuration has no command for it")
	}
	limit := cmp.Or(time.Duration(c.Timeout), buildTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timeout after %v", limit))
	defer cancel()
	src := filepath.Join(work, "src")
	for _, args := range [][]string{
		{"git", "clone", "--quiet", "--shared", "--no-checkout", "--", c.Dir, src},
		{"git", "-C", src, "checkout", "--quiet", "--detach", b.Revision, "--"},
	} {
		if _, err := run(ctx, "", b.Revision, args...); err != nil {
			return opened{}, err
		}
	}
	if _, err := run(ctx, src, b.Revision, c.Command...); err != nil {
		return opened{}, err
	}
	path := filepath.Join(src, c.Output)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return opened{}, err
	}
	if rel, err := filepath.Rel(src, real); err != nil || !filepath.IsLocal(rel) {
		return opened{}, fmt.Errorf("%s leads out of the commit's files", c.Output)
	}
	st, err := os.Stat(real)
	switch {
	case err != nil:
		return opened{}, err
	case st.IsDir() && c.Sign != "":
		archive := filepath.Join(work, "build.tar.gz")
		return opened{archive: archive}, pack(ctx, real, archive)
	case st.IsDir():
		return opened{tree: real}, nil
	}
	return opened{archive: real}, nil
}

// run runs a program and returns the last part of its output. An error has the last line of its
// messages, or else of the output.
func run(ctx context.Context, dir, revision string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out, messages := &tail{}, &tail{}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, out, messages, killTime
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "EIDETICKER_REVISION="+revision)
	inGroup(cmd)
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		text := cmp.Or(strings.TrimSpace(string(messages.kept)), strings.TrimSpace(string(out.kept)))
		lines := strings.Split(text, "\n")
		return nil, fmt.Errorf("%s: %w: %.200s", filepath.Base(args[0]), err, lines[len(lines)-1])
	}
	return out.kept, nil
}

// tail keeps the last bytes of an output.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-maxOutput):]
	return len(p), nil
}
