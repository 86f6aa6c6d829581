package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
)

type certifyCmd struct {
	Source   string        `arg:"" complete:"v4l2: x11:" help:"Source to certify, as a URI that record accepts."`
	Output   string        `required:"" placeholder:"OUTPUT" help:"x11:DISPLAY[?region=WxH+X+Y] or v4l2:DEVICE."`
	Duration time.Duration `short:"t" default:"10s" help:"Play for this long (default: 10s)."`
	Folder   string        `short:"o" placeholder:"FOLDER" help:"Write recording, certificate and worst frames."`
	Size     string        `placeholder:"WxH" help:"Size of the picture on an X display (default: the whole display)."`
	FPS      string        `name:"fps" placeholder:"N" help:"Pictures per second, for outputs with a choice."`
	Store    string        `env:"EIDETICKER_CERTIFICATES" placeholder:"FOLDER" help:"Folder of certificates."`
	JSON     bool          `help:"Print the certificate as one JSON object."`
}

func (certifyCmd) Help() string {
	return `Examples:

  eideticker certify v4l2:/dev/video0 --output x11::0
  eideticker certify 'x11::9?fps=60' --output x11::9 -t 5s -o evidence

Connect the output to the source. The certificate reports repeated, dropped and reordered frames, the delay, and
scaled, cropped, subsampled or recoloured pictures. It is stored in the user's settings by device and mode,
and recordings refer to it.
Certify each card, cable and adapter once. The exit code is 1 if the path fails.`
}

func (c certifyCmd) Run(e *env) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Duration < minCertify || c.Duration > maxCertify {
		return usagef("-t %v: must be between %v and %v", c.Duration, minCertify, maxCertify)
	}
	store, err := c.store()
	if err != nil {
		return err
	}
	if err := store.Probe(); err != nil {
		return err
	}
	src, err := openSource(e.ctx, c.Source)
	if err != nil {
		return err
	}
	defer src.Close()
	if !certify.Needed(src.Info()) {
		return usagef("certify %s: the source must be v4l2: or x11:", c.Source)
	}
	o.Source = src.Info()
	out, err := certify.OpenOutput(c.Output, o)
	if errors.Is(err, certify.ErrOutput) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer out.Close()
	return c.certify(e, src, out, store)
}

// Limits of -t. Longer recordings fill the disk.
const (
	minCertify = time.Second
	maxCertify = time.Hour
)

func (c certifyCmd) options() (o certify.OutputOptions, err error) {
	if c.Size != "" {
		if o.Width, o.Height, err = frame.ParseSize(c.Size); err != nil {
			return o, usagef("--size: %w", err)
		}
		if err := certify.CheckSize(o.Width, o.Height); err != nil {
			return o, usagef("--size: %w", err)
		}
	}
	if c.FPS != "" {
		num, den, err := frame.ParseRate(c.FPS)
		if err != nil {
			return o, usagef("--fps: %w", err)
		}
		o.Period = capture.Rational{Num: num, Den: den}
	}
	return o, nil
}

func (c certifyCmd) store() (certify.Store, error) {
	if c.Store != "" {
		return certify.Store{Dir: c.Store}, nil
	}
	return certify.DefaultStore()
}

// certify plays and records, prints the certificate and stores it.
func (c certifyCmd) certify(e *env, src capture.Source, out certify.Output, store certify.Store) (err error) {
	folder := c.Folder
	if folder == "" {
		if folder, err = os.MkdirTemp("", "eideticker-certify-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	path := filepath.Join(folder, "recording.eid")
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is from an earlier certification: choose another folder, or move it", path)
	}
	mode := out.Mode()
	what := fmt.Sprintf("playing %dx%d on %s", mode.Width, mode.Height, mode.URI)
	p := e.phase(what, 0)
	rep, err := certify.Run(e.ctx, src, out, certify.Options{
		Duration: c.Duration, Path: path, Program: program(),
		Progress: func(at recorder.Progress) { p.Describe(what + progressText(at, 0)) },
	})
	p.End()
	switch {
	case errors.Is(err, certify.ErrDuration):
		return usagef("-t: %w", err)
	case err != nil:
		return orInterrupted(err)
	}
	cert := certify.NewCertificate(src.Info(), program(), time.Now(), rep)
	// The report is printed even if the files cannot be written.
	var file string
	var kept error
	if rep.Tells() {
		file, kept = store.Save(cert)
	}
	if c.Folder != "" {
		kept = errors.Join(kept, certify.WriteEvidence(folder, path, cert))
	}
	if c.JSON {
		err = printJSON(e.out, certifyJSON{cert, file})
	} else {
		err = c.print(e, cert, file)
	}
	return errors.Join(err, kept, c.failure(rep))
}

// failure returns the error of a path that fails or is unknown.
func (c certifyCmd) failure(rep *certify.Report) error {
	switch {
	case !rep.Tells():
		return fmt.Errorf("certify %s: the source does not show the played pictures; no certificate is stored",
			c.Source)
	case rep.Verdict == certify.Fail:
		return fmt.Errorf("%s fails: %s", c.Source, strings.Join(rep.Failed(), ", "))
	}
	return nil
}

// certifyJSON is the output of certify --json: the certificate and its file.
type certifyJSON struct {
	certify.Certificate
	File string `json:"file,omitempty"` // where one is kept
}

func (c certifyCmd) print(e *env, cert certify.Certificate, file string) error {
	var rows [][]string
	for _, f := range cert.Report.Findings {
		came := f.Sent + " → " + f.Came
		if f.Verdict != certify.NotJudged {
			came += " (" + f.Kind + ")"
		}
		rows = append(rows, []string{f.Property, string(f.Verdict), came})
		if f.Advice != "" {
			rows = append(rows, []string{"", "", f.Advice})
		}
	}
	heading := []string{"PROPERTY", "VERDICT", "SENT → CAME"}
	if err := terminal.Wrapped(e.out, heading, rows, terminal.Columns(e.out)); err != nil {
		return err
	}
	var l terminal.List
	l.Add("verdict", "%s", cert.Verdict.Text())
	l.Add("device", "%s", cert.Device.Text())
	l.Add("mode", "%v", cert.Mode)
	l.Add("certificate", "%s", certificateText(file, cert.Report))
	l.Add("evidence", "%s", c.Folder)
	if _, err := fmt.Fprintln(e.out); err != nil {
		return err
	}
	return l.Print(e.out)
}

// certificateText returns the file of the certificate, or why there is none.
func certificateText(file string, r *certify.Report) string {
	switch {
	case file != "":
		return file
	case r.Tells():
		return "not stored"
	}
	return "none: the path is unknown; an earlier certificate stays"
}
