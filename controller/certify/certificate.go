package certify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// certificateVersion is the version of the certificate's JSON.
const certificateVersion = 1

// Certificate is the result for a device in one mode.
type Certificate struct {
	Version int       `json:"version"`
	Date    time.Time `json:"date"`
	Program string    `json:"program"`
	Device  Device    `json:"device"`
	Mode    Recorded  `json:"mode"`
	Verdict Verdict   `json:"verdict"`
	Report  *Report   `json:"report"`
}

// Device is the device of a certificate. A capture card is identified by its driver's data, so that
// it is the same under another /dev/videoN. The parts before it (cable, adapter) are unknown. The
// user who files the certificate may name them.
type Device struct {
	Kind   string `json:"kind"` // the URI's scheme
	Path   string `json:"path"` // what follows it
	Driver string `json:"driver,omitempty"`
	Card   string `json:"card,omitempty"`
	Bus    string `json:"bus,omitempty"`
	Input  string `json:"input,omitempty"`
}

// Text names the device for people.
func (d Device) Text() string {
	if d.Card == "" {
		return d.Kind + ":" + d.Path
	}
	return fmt.Sprintf("%s (%s, %s) as %s:%s", d.Card, d.Driver, d.Bus, d.Kind, d.Path)
}

// Recorded is a mode in which a device is recorded.
type Recorded struct {
	Width       int    `json:"width_px"`
	Height      int    `json:"height_px"`
	PixelFormat string `json:"pixel_format"`
	PeriodNum   int64  `json:"period_num_s"` // 0/0 where the source has none
	PeriodDen   int64  `json:"period_den"`
}

// String formats as "1920x1080 BGR4 at 59.94/s".
func (m Recorded) String() string {
	s := fmt.Sprintf("%dx%d %s", m.Width, m.Height, m.PixelFormat)
	if m.PeriodNum > 0 {
		s += fmt.Sprintf(" at %.5g/s", float64(m.PeriodDen)/float64(m.PeriodNum))
	}
	return s
}

// deviceMetadata is the source's own word on a capture device: capture/v4l2 stores it with each
// recording.
const deviceMetadata = "v4l2.device"

// serverMetadata is the same of an X display, by capture/x11.
const serverMetadata = "x11.server"

// identify names the device and the mode of an opened source.
func identify(info capture.Info) (Device, Recorded) {
	before, _, _ := strings.Cut(info.URI, "?")
	kind, path, _ := strings.Cut(before, ":")
	if kind == "x11" {
		path = display(path)
	}
	d := Device{Kind: kind, Path: path}
	for _, m := range info.Metadata {
		switch m.Name {
		case deviceMetadata:
			// What cannot be read leaves the device without a name, and so without a certificate.
			_ = json.Unmarshal(m.Value, &d)
		case serverMetadata:
			var s struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(m.Value, &s)
			d.Driver = s.Name
		}
	}
	return d, recordedAs(info.Format, info.Period)
}

// display spells an X display in one way: ":9" for ":9.0", "unix:9" and what DISPLAY says where
// none is named.
func display(name string) string {
	if name == "" {
		name = os.Getenv("DISPLAY")
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "unix"), ".0")
}

func recordedAs(f frame.Format, p capture.Rational) Recorded {
	return Recorded{Width: f.Width, Height: f.Height, PixelFormat: f.Pixel.String(), PeriodNum: p.Num, PeriodDen: p.Den}
}

// key is what makes two devices the same: not the path, where the driver says more. Of an X display
// it is the number and the server's program: another server may have the number next week.
func (d Device) key() string {
	if d.Card != "" || d.Bus != "" {
		return strings.Join([]string{d.Kind, d.Driver, d.Card, d.Bus, d.Input}, "\n")
	}
	return strings.Join([]string{d.Kind, d.Path, d.Driver}, "\n")
}

// Store is a folder of certificates.
type Store struct{ Dir string }

// storeVariable is the environment variable that names the store's folder.
const storeVariable = "EIDETICKER_CERTIFICATES"

// DefaultStore is where certificates are kept: in the folder that the environment names, or with
// the user's settings.
func DefaultStore() (Store, error) {
	if dir := os.Getenv(storeVariable); dir != "" {
		return Store{dir}, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return Store{}, fmt.Errorf("find the folder of certificates, which %s may name: %w", storeVariable, err)
	}
	return Store{filepath.Join(dir, "eideticker", "certificates")}, nil
}

// Save writes a certificate and returns its file. One of the same device and mode is replaced.
func (s Store) Save(c Certificate) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", fmt.Errorf("keep the certificate: %w", err)
	}
	path := filepath.Join(s.Dir, c.fileName())
	if err := c.write(path); err != nil {
		return "", fmt.Errorf("keep the certificate: %w", err)
	}
	return path, nil
}

func (c Certificate) write(path string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return staging.WriteFile(path, append(b, '\n'), 0o644)
}

// fileName is readable, and one for each device and mode.
func (c Certificate) fileName() string {
	name := c.Device.Card
	if name == "" {
		name = c.Device.Path
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
	m := c.Mode
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%+v", c.Device.key(),
		[...]any{m.Width, m.Height, m.PixelFormat, m.PeriodNum, m.PeriodDen}))
	return fmt.Sprintf("%s-%.40s-%dx%d-%s-%s.json", c.Device.Kind, strings.Trim(clean, "-."), m.Width, m.Height,
		m.PixelFormat, hex.EncodeToString(sum[:4]))
}

// Probe makes the folder and checks that a certificate can be stored in it, before any picture is
// played.
func (s Store) Probe() error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("no certificate can be kept: %w", err)
	}
	tmp, err := os.CreateTemp(s.Dir, ".certificate.*")
	if err != nil {
		return fmt.Errorf("no certificate can be kept in %s: %w", s.Dir, staging.WithoutPath(err))
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// Filed is a certificate and the file that it is in.
type Filed struct {
	Certificate
	Path   string
	SHA256 string // of the file, hexadecimal
}

// maxCertificate bounds a file that is read as a certificate.
const maxCertificate = 1 << 20

// all returns the store's certificates, the newest first. A missing folder has none. Files that are
// not certificates are left out.
func (s Store) all() ([]Filed, error) {
	names, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for certificates: %w", err)
	}
	var all []Filed
	for _, n := range names {
		if filepath.Ext(n.Name()) != ".json" || strings.HasPrefix(n.Name(), ".") {
			continue
		}
		if f, err := readCertificate(filepath.Join(s.Dir, n.Name())); err == nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Filed) int { return b.Date.Compare(a.Date) })
	return all, nil
}

func readCertificate(path string) (Filed, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Filed{}, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxCertificate {
		return Filed{}, fmt.Errorf("%s is not a certificate", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Filed{}, err
	}
	f := Filed{Path: path}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&f.Certificate); err != nil {
		return Filed{}, fmt.Errorf("read certificate %s: %w", path, err)
	}
	switch f.Verdict {
	case Pass, Remark, Fail:
	default:
		return Filed{}, fmt.Errorf("read certificate %s: unknown verdict %q", path, f.Verdict)
	}
	if f.Certificate.Version != certificateVersion {
		return Filed{}, fmt.Errorf("certificate %s is of version %d, this program knows %d", path,
			f.Certificate.Version, certificateVersion)
	}
	sum := sha256.Sum256(b)
	f.SHA256 = hex.EncodeToString(sum[:])
	return f, nil
}

// find returns the newest certificate of a device in a mode, and in which other modes it is
// certified.
func (s Store) find(d Device, m Recorded) (found Filed, ok bool, others []Recorded, err error) {
	all, err := s.all()
	if err != nil {
		return Filed{}, false, nil, err
	}
	for _, c := range all {
		switch {
		case c.Device.key() != d.key():
		case c.Mode == m && !ok:
			found, ok = c, true
		case c.Mode != m:
			others = append(others, c.Mode)
		}
	}
	return found, ok, others, nil
}

// Of returns all certificates of a device, of any of its inputs where none is named.
func (s Store) Of(d Device) ([]Filed, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(f Filed) bool {
		if d.Input == "" {
			f.Device.Input = ""
		}
		return f.Device.key() != d.key()
	}), err
}

// Standing is the metadata [response.CertificateMetadata] of a recording: the certificate of its
// source.
type Standing struct {
	Certified bool      `json:"certified"`
	Verdict   Verdict   `json:"verdict,omitempty"`
	Date      time.Time `json:"date,omitzero"`
	File      string    `json:"file,omitempty"`
	SHA256    string    `json:"sha256,omitempty"` // of the file
	// Delay of the path, where the certificate bounds it and has not failed.
	Delay *response.PathDelay `json:"delay,omitempty"`
	// Why is the reason if the certificate is missing.
	Why string `json:"why,omitempty"`
}

// pathDelay is the delay that a certificate tells, or nil.
func (c Certificate) pathDelay() *response.PathDelay {
	if c.Verdict == Fail || c.Report == nil {
		return nil
	}
	m := &c.Report.Delay
	d := response.PathDelay{Low: m.MinLow, Median: m.MedianLow + (m.MedianTop-m.MedianLow)/2, High: m.MaxHigh}
	if !d.Bounded() {
		return nil
	}
	return &d
}

// Needed reports whether a kind of source has a path to be certified: files and scenes have none.
func Needed(info capture.Info) bool {
	kind, _, _ := strings.Cut(info.URI, ":")
	return kind == "v4l2" || kind == "x11"
}

// standingOf reports whether a source is certified in its mode. An error leaves it uncertified,
// with the reason.
func (s Store) standingOf(info capture.Info) Standing {
	d, m := identify(info)
	f, ok, others, err := s.find(d, m)
	switch {
	case err != nil:
		return Standing{Why: err.Error()}
	case ok:
		return Standing{Certified: true, Verdict: f.Verdict, Date: f.Date, File: filepath.Base(f.Path),
			SHA256: f.SHA256, Delay: f.pathDelay()}
	case len(others) > 0:
		return Standing{Why: fmt.Sprintf("certified in other modes only, such as %v", others[0])}
	}
	return Standing{Why: "no certificate of this device: eideticker certify makes one"}
}

// Metadata returns what a recording of the source is to hold, or nothing where nothing is needed.
func Metadata(info capture.Info) []capture.Metadata {
	if !Needed(info) {
		return nil
	}
	standing := Standing{}
	if s, err := DefaultStore(); err != nil {
		standing.Why = err.Error()
	} else {
		standing = s.standingOf(info)
	}
	b, err := json.Marshal(standing)
	if err != nil {
		return nil // strings and times always can
	}
	return []capture.Metadata{{Name: response.CertificateMetadata, Value: b}}
}

// text says it in a few words.
func (s Standing) text() string {
	if !s.Certified {
		return "not certified: " + s.Why
	}
	words := map[Verdict]string{Pass: "passed", Remark: "passed with remarks", Fail: "failed"}[s.Verdict]
	return fmt.Sprintf("%s on %s (%s)", words, s.Date.Local().Format("2006-01-02"), s.File)
}

// StandingText says what the metadata of a recording says.
func StandingText(value json.RawMessage) string {
	var s Standing
	if err := json.Unmarshal(value, &s); err != nil {
		return "cannot be read: " + err.Error()
	}
	return s.text()
}

// NewCertificate puts a report on record.
func NewCertificate(info capture.Info, program string, date time.Time, r *Report) Certificate {
	d, m := identify(info)
	return Certificate{Version: certificateVersion, Date: date.UTC().Truncate(time.Second), Program: program, Device: d,
		Mode: m, Verdict: r.Verdict, Report: r}
}

// KeepsColours reports whether each pixel of a source has the colour that the device sent: an X
// display does, and a device whose certificate says so.
func KeepsColours(info capture.Info) bool {
	if kind, _, _ := strings.Cut(info.URI, ":"); kind == "x11" {
		return true
	}
	s, err := DefaultStore()
	if err != nil || !Needed(info) {
		return false
	}
	d, m := identify(info)
	f, ok, _, err := s.find(d, m)
	if err != nil || !ok || f.Verdict == Fail || f.Report == nil {
		return false
	}
	e := &f.Report.Exactness
	return e.Judged && !e.Luma && e.Frames > 0 && e.WrongPixels == 0
}
