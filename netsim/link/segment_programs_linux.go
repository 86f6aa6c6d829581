package link

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// servant is a program that serves a segment, in its namespace and in the foreground. It reads its
// configuration from standard input, so the disk is not used. It is killed when it is no longer
// necessary, or with this process.
type servant struct {
	name  string
	cmd   *exec.Cmd
	ready chan struct{} // it has said so
	ended chan struct{}
	once  sync.Once

	mu   sync.Mutex
	said []string // its last lines
	err  error    // how it ended
}

const (
	startTimeout = 20 * time.Second
	maxSaid      = 5       // lines that are kept for an error
	maxLine      = 4 << 10 // bytes of one that are looked at
)

// programs are those that a segment takes, ready to be started.
func (o *SegmentOptions) programs() ([]func(context.Context, *Segment) (*servant, error), error) {
	dnsmasq, err := findProgram("dnsmasq", "which gives devices their addresses", "dnsmasq-base")
	if err != nil {
		return nil, err
	}
	all := []func(context.Context, *Segment) (*servant, error){func(ctx context.Context, s *Segment) (*servant, error) {
		return s.serve(ctx, exec.Command(dnsmasq, "--keep-in-foreground", "--conf-file=-"), o.addressing(!noIPv6()),
			"started, version", s.heard)
	}}
	if o.AccessPoint == nil {
		return all, nil
	}
	hostapd, err := findProgram("hostapd", "which makes a wireless interface an access point", "hostapd")
	if err != nil {
		return nil, err
	}
	// First: it is it that starts the interface.
	return append([]func(context.Context, *Segment) (*servant, error){func(ctx context.Context, s *Segment) (*servant,
		error) {
		return s.serve(ctx, exec.Command(hostapd, "/proc/self/fd/0"), o.AccessPoint.configuration(o.Interface),
			"AP-ENABLED", func(line string) {
				if o.Log != nil {
					o.Log(line)
				}
			})
	}}, all...), nil
}

// findProgram looks also where only root's PATH leads.
func findProgram(name, reason, pkg string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &missingError{name, reason, pkg}
}

// rights are those of the programs: of the network that they are in, whoever runs this program.
var rights = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}

// serve starts a program and waits until it says that it is ready. Every line of it goes to heard.
func (s *Segment) serve(ctx context.Context, cmd *exec.Cmd, configuration, ready string, heard func(string)) (*servant,
	error) {
	v := &servant{name: filepath.Base(cmd.Path), cmd: cmd, ready: make(chan struct{}), ended: make(chan struct{})}
	cmd.Stdin = strings.NewReader(configuration)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.Dir = "/"
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: rights}
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = s.packet.Device.Start(cmd)
	_ = in.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", v.name, err), out.Close())
	}
	go v.attend(out, ready, heard)
	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-v.ready:
		return v, nil
	case <-v.ended:
		return nil, v.why()
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), v.close())
	case <-timer.C:
		_ = v.close()
		return nil, fmt.Errorf("%s not ready within %v: %s", v.name, startTimeout, v.last())
	}
}

// attend reads what the program says until it has ended.
func (v *servant) attend(out io.ReadCloser, ready string, heard func(string)) {
	begun := sync.OnceFunc(func() { close(v.ready) })
	r := bufio.NewReaderSize(out, maxLine)
	for {
		b, more, err := r.ReadLine()
		if err != nil {
			break
		}
		line := string(bytes.ToValidUTF8(b, []byte("?")))
		for more && err == nil { // a longer text is not a configuration
			_, more, err = r.ReadLine()
		}
		v.mu.Lock()
		v.said = append(v.said, line)
		v.said = v.said[max(0, len(v.said)-maxSaid):]
		v.mu.Unlock()
		heard(line)
		if strings.Contains(line, ready) {
			begun()
		}
	}
	_ = out.Close()
	err := v.cmd.Wait()
	v.mu.Lock()
	v.err = err
	v.mu.Unlock()
	close(v.ended)
}

// last is what it said last.
func (v *servant) last() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.said) == 0 {
		return "it said nothing"
	}
	return strings.Join(v.said, "; ")
}

// why says why it ended by itself.
func (v *servant) why() error {
	last := v.last()
	v.mu.Lock()
	defer v.mu.Unlock()
	how := "it is over"
	if v.err != nil {
		how = v.err.Error()
	}
	return fmt.Errorf("%s, which serves the device's network, ended (%s): %s", v.name, how, last)
}

// close ends it. It is an error if it had ended before.
func (v *servant) close() (err error) {
	v.once.Do(func() {
		select {
		case <-v.ended:
			err = v.why()
			return
		default:
		}
		_ = v.cmd.Process.Kill() // it may just have ended
		<-v.ended
	})
	return err
}
