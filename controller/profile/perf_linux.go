package profile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/perfscript"
	"github.com/eideticker/eideticker/capture/timeline"
)

// perf samples by perf record. Its counters belong to the thread that starts the program. Children
// of that thread inherit them, so the program has them from its first instruction.
type perf struct {
	recorder
	whole   bool     // record all programs of the machine; none is started
	args    []string // that worked in a trial
	traced  bool     // with tracepoints
	tool    *tool
	control *os.File // commands
	answers *os.File
	reader  *bufio.Reader
	why     string // it was stopped
	root    int
	maps    bool // V8 writes maps of names
	names   map[int32]string
	running []int32 // processes at the end of the recording
}

const perfFile = "perf.data"

func openPerf(ctx context.Context, o Options) (engine, error) {
	p := &perf{recorder: recorder{o: o}}
	return p, p.check(ctx)
}

// check finds arguments that this machine permits.
func (p *perf) check(ctx context.Context) error {
	if _, err := exec.LookPath("perf"); err != nil {
		return &missingError{Samples, "perf is not installed", "run sudo apt install linux-perf"}
	}
	if os.Geteuid() != 0 && sysctl("perf_event_paranoid", 2) > 2 {
		return &missingError{Samples, "kernel.perf_event_paranoid forbids perf for plain users",
			"run sudo sysctl kernel.perf_event_paranoid=1"}
	}
	rate := p.o.Rate
	p.info = activity.Info{Name: nativeDir, Engine: "perf", Way: Samples, Target: cmp.Or(p.o.Browser, "program")}
	if most := sysctl("perf_event_max_sample_rate", 100_000); rate > most {
		p.warn("The kernel allows %d samples per second.", most)
		rate = max(most, 1)
	}
	p.info.RateHz = rate
	common := []string{"record", "-q", "-k", "CLOCK_MONOTONIC", "-g", "--sample-cpu", "-B", "-N", "--switch-events",
		"-e", fmt.Sprintf("cycles/freq=%d/", rate)}
	if os.Geteuid() == 0 {
		common = append(common, "-m", "1024")
	}
	if p.whole {
		common = append(common, "-a")
	}
	traced := append(slices.Clone(common), "-e", "sched:sched_switch", "-e", "sched:sched_waking/call-graph=no/")
	why := try(ctx, "perf", append(slices.Clone(traced), "-o", "/dev/null", "--", "true")...)
	if p.args, p.traced = traced, true; why == nil {
		return nil
	}
	p.args, p.traced = common, false
	if err := try(ctx, "perf", append(slices.Clone(common), "-o", "/dev/null", "--", "true")...); err != nil {
		return &missingError{Samples, "perf cannot record: " + err.Error(),
			"run sudo sysctl kernel.perf_event_paranoid=1"}
	}
	p.warn("Waits have no stacks, since perf may not read tracepoints (%s).", strings.TrimRight(why.Error(), "."))
	return nil
}

// sysctl returns a setting of the kernel.
func sysctl(name string, unknown int) int {
	text, err := os.ReadFile("/proc/sys/kernel/" + name)
	n, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		return unknown
	}
	return n
}

func (p *perf) Prepare(ctx context.Context, cmd *exec.Cmd) error {
	raw, err := p.o.rawDir(nativeDir)
	if err != nil {
		return err
	}
	commands, control, err := os.Pipe()
	if err != nil {
		return err
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close(), control.Close())
	}
	p.control, p.answers, p.reader = control, answers, bufio.NewReader(answers)
	args := append(slices.Clone(p.args), "-D", "-1", "--control", "fd:3,4",
		fmt.Sprintf("--max-size=%dB", p.o.Limit), "-o", filepath.Join(raw, perfFile))
	if !p.whole {
		args = append(args, "--inherit", "-t", strconv.Itoa(unix.Gettid()))
	}
	record := exec.Command("perf", args...)
	record.Env = append(os.Environ(), "LC_ALL=C", "PERF_CONFIG=/dev/null")
	record.ExtraFiles = []*os.File{commands, answer}
	p.info.Command = record.Args
	p.tool, err = startTool(record)
	err = errors.Join(err, commands.Close(), answer.Close())
	if err == nil {
		first := "enable"
		if p.o.Content {
			first = "ping"
		}
		err = p.ask(first)
	}
	if err != nil {
		if p.tool != nil {
			p.tool.end(ctx, nil)
			err = fmt.Errorf("%w: %s", err, p.tool.said())
		}
		err = errors.Join(err, control.Close(), answers.Close())
		return &missingError{Samples, "perf cannot record: " + err.Error(), ""}
	}
	if p.o.JS == jsMap || p.o.JS == jsAuto { // Convert removes the maps, so perf must run
		why := ""
		if p.maps, why = nameScripts(cmd, raw); why != "" && (p.o.JS == jsMap || p.o.Browser == "") {
			p.warn("JavaScript functions have no names: %s.", why)
		}
	}
	p.info.BeginNS = int64(timeline.Monotonic().Now())
	return nil
}

// ask sends perf a command and waits until it is carried out.
func (p *perf) ask(command string) error {
	deadline := time.Now().Add(patience)
	if err := errors.Join(p.control.SetWriteDeadline(deadline), p.answers.SetReadDeadline(deadline)); err != nil {
		return err
	}
	if _, err := p.control.WriteString(command + "\n"); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	line, err := p.reader.ReadString('\n')
	if err != nil || strings.Trim(line, "\x00\n") != "ack" {
		return fmt.Errorf("%s is not confirmed", command)
	}
	return nil
}

func (p *perf) Started(pid int) { p.root = pid }

func (p *perf) Content(on bool) {
	command := "disable"
	if on {
		command = "enable"
	}
	if err := p.ask(command); err != nil && !p.tool.over() {
		p.warn("perf did not start or stop with the content: %v.", err)
	}
}

// bound implements bounded. The tool has a limit of its own.
func (p *perf) bound(why string) {
	if why != "" && p.why == "" && !p.tool.over() {
		p.why = why
		p.tool.signal(unix.SIGTERM)
	}
}

func (p *perf) Stop(ctx context.Context) (activity.Info, error) {
	if p.tool == nil { // the program was not started
		return p.info, nil
	}
	if !p.whole {
		p.names = processNames(p.root)
		for pid := range descendants(p.root) {
			p.running = append(p.running, int32(pid))
		}
	}
	p.info.EndNS = int64(timeline.Monotonic().Now())
	if p.why != "" { // it may still write its file
		p.tool.end(ctx, nil)
	}
	if early := p.tool.over(); early {
		p.info.EndNS = int64(p.tool.at)
		why := cmp.Or(p.why, p.tool.said(), "it was stopped")
		if strings.Contains(why, "size limit") {
			why = fmt.Sprintf("its file reached the limit of %d bytes", p.o.Limit)
		}
		p.info.Cut = "perf ended before the program, since " + why
	} else {
		p.tool.end(ctx, func() {
			_ = p.control.SetWriteDeadline(time.Now().Add(patience)) // that of the last command is over
			_, _ = p.control.WriteString("stop\n")
		})
	}
	return p.info, errors.Join(p.control.Close(), p.answers.Close())
}

func (p *perf) Convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	var counts perfscript.Counts
	defer func() {
		p.running = append(p.running, counts.Processes...)
		p.discard()
	}()
	p.info.Recording, p.info.Raw = recording, []string{perfFile}
	dir := filepath.Join(p.o.Dir, nativeDir)
	text, end, err := p.script(ctx)
	if err != nil {
		return p.info, fmt.Errorf("convert samples: %w", err)
	}
	info, err := convert(dir, p.info, spans, func(to activity.Sink) (map[string]int64, error) {
		places := newPlaces()
		counts, err = perfscript.Read(text, perfscript.Options{Root: int32(p.root), Names: p.names,
			Period: 1_000_000_000 / int64(p.info.RateHz), Place: places.begin}, p.o.originals(to))
		return counts.Skipped, end(err)
	})
	if err != nil {
		return info, fmt.Errorf("convert samples: %w", err)
	}
	if counts.Lost > info.Lost {
		info.Lost = counts.Lost
		info.Warnings = append(info.Warnings, fmt.Sprintf("%d records are lost.", counts.Lost))
		err = info.Write(dir)
	}
	return info, err
}

// script starts perf script. end ends it after its text was read with an error or none, which it
// returns.
func (p *perf) script(ctx context.Context) (text io.Reader, end func(error) error, err error) {
	fields := "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"
	if p.traced {
		fields += ",trace"
	}
	raw := filepath.Join(p.o.Dir, nativeDir, activity.RawDir)
	cmd := exec.CommandContext(ctx, "perf", "--buildid-dir", filepath.Join(raw, "debug"), "script", "-f", "--ns",
		"--no-inline", "--show-task-events", "--show-switch-events", "--show-lost-events", "-F", fields,
		"-i", filepath.Join(raw, perfFile))
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_CONFIG=/dev/null", "DEBUGINFOD_URLS=")
	var said tail
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	if text, err = cmd.StdoutPipe(); err == nil {
		err = cmd.Start()
	}
	return text, func(err error) error {
		if err != nil {
			_ = cmd.Process.Kill()
		}
		if ended := cmd.Wait(); ended != nil && err == nil {
			err = fmt.Errorf("perf script: %w: %s", ended, said.last())
		}
		return err
	}, err
}

// discard removes the files that are not in the folder of the trace.
func (p *perf) discard() {
	if p.maps {
		removeMaps(p.running)
	}
}
