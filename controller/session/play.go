package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/x11/display"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/script"
	"github.com/eideticker/eideticker/controller/input/touch"
	"github.com/eideticker/eideticker/controller/screen"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// take is a played test with its recording. The known part is valid on an error too.
type take struct {
	controller.Played
	recorded    recorder.Result
	report      *site.Report // of the page; nil: it sent none
	traffic     *traffic     // nil: the network is the device's own
	environment result.Environment
	input       *input.Info
	machine     *machine.Activity // while the test was played
	claims      *pageClaims       // nil: they were not read
	script      *scripts.Run      // nil: scripts were not instrumented
}

// play records the screen while the controller runs the test.
func (r *run) play(ctx context.Context, p *prepared) (take, error) {
	begun := machine.Begin(displayOf(p.source.Info().URI))
	t, err := r.record(ctx, p)
	if t.machine = begun.End(); t.machine.Noise != "" {
		r.note("noisy: %s", t.machine.Noise)
	}
	t.input = inputInfo(p.stage) // an input method may have appeared during the test
	t.environment = maps.Clone(p.environment)
	maps.Copy(t.environment, p.stage.About())
	if r.vitals() {
		t.environment[result.EnvVitals] = "observed"
	}
	if p.profile != nil {
		t.environment[result.EnvProfile] = r.Test.Profile.Text()
	}
	if p.pages.script != nil {
		t.environment[result.EnvScript] = strings.Join(p.pages.script.policies, ", ")
	}
	r.noteSandbox(p.stage)
	return t, err
}

// displayOf returns the number of the X display of this machine that a source records; "": none.
func displayOf(uri string) string {
	name, of := strings.CutPrefix(uri, "x11:")
	name, _, _ = strings.Cut(name, "?")
	if name == "" {
		name = os.Getenv("DISPLAY")
	}
	a, err := display.Parse(name)
	if !of || err != nil || a.Host != "" {
		return ""
	}
	return a.Number
}

// record runs the recorder. The recorder joins the goroutine of the controller.
func (r *run) record(caller context.Context, p *prepared) (t take, err error) {
	known, err := json.Marshal(p.environment)
	if err != nil {
		return t, err
	}
	ctx, stop := context.WithCancel(caller)
	defer stop()
	watcher := screen.New()
	info := p.source.Info()
	watcher.Period = info.Period.Duration(1)
	var failure error
	r.phase("running " + r.Test.Name)
	res, err := recorder.Record(ctx, p.source, r.path(runfolder.RecordingFile), recorder.Options{
		Program: r.Program, Watch: r.Observer.watch(watcher), Progress: r.Observer.Progress, Host: r.Observer.Host,
		Metadata: append(certify.Metadata(info), capture.Metadata{Name: runfolder.MetadataName, Value: known}),
		Started: func(ctx context.Context, emit func(timeline.Event)) error {
			t, failure = r.control(ctx, p, watcher, info.Format, emit)
			stop()
			return nil // the recording of a failed run is complete
		},
	})
	t.recorded = res
	r.Observer.recorded(res)
	r.add(res.Notes)
	r.log.Info("recorded", "frames", res.Stored, "lost", res.Missing, "ended", string(res.Ended))
	if caller.Err() == nil && errors.Is(failure, context.Canceled) { // only the recording's end canceled it
		failure = inLab(fmt.Errorf("the recording ended before the test did: %s", res.Ended))
	}
	return t, errors.Join(failure, inLab(err))
}

// control runs the test and collects the report of its page and the traffic of its network.
func (r *run) control(ctx context.Context, p *prepared, screen *screen.Watcher, f frame.Format,
	emit func(timeline.Event)) (t take, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	happened := make(chan string, 16) // more than the kinds of a page's events
	reports := r.listen(ctx, cancel, p.pages.site, func(e timeline.Event) {
		emit(e)
		select {
		case happened <- e.Kind:
		default:
		}
	})
	if w, ok := p.stage.(interface{ watchBy(controller.Screen) }); ok {
		w.watchBy(screen)
	}
	var link *runLink
	setup := controller.Setup{
		Test: r.Test, Browser: p.stage, Painter: painterOf(p.stage, p.pages.red), Input: p.stage.Input(),
		Screen: screen, Clock: timeline.Monotonic(), Emit: profiledEvents(p.profile, emit), Log: r.log,
		Address: p.pages.address, Own: p.pages.own, GreenAddress: p.pages.green,
		Size:   frame.Region{Width: f.Width, Height: f.Height},
		Random: rand.New(rand.NewPCG(r.Seed, 0)), Gestures: gestures{r.Test.Dir}, Happened: happened,
	}
	if browser, ok := p.stage.(interface{ launched() *device.Browser }); ok {
		setup.Busy = func(ctx context.Context) string { return computes(ctx, browser.launched()) }
	}
	if p.pages.site != nil {
		setup.StepsEnded = p.pages.site.InputEnded
	}
	if p.network != nil {
		link = p.network.link
		setup.ChangeLink = func(l suite.Link) (string, error) {
			changed, err := link.change(l, "the test")
			return changed.Text, err
		}
	}
	detach := r.Remote.attach(link, emit)
	watched := r.watchProfile(ctx, cancel, p, screen)
	t.Played, err = controller.Run(ctx, setup)
	err = watched(err)
	detach()
	if t.Restless != "" {
		text := "the content may be incomplete: after a stillness, " + t.Restless
		if t.Still {
			text += "; see --end"
		}
		r.note("%s", text)
	}
	if p.pages.missing != nil {
		if text := p.pages.missing.note(); text != "" {
			r.note("%s", text)
		}
	}
	ended := timeline.Monotonic().Now()
	if r.vitals() && err == nil { // before the same connection fetches the trace
		t.claims = r.readClaims(ctx, p.stage)
	}
	r.stopProfile(ctx, p.profile)
	if reports != nil {
		t.report = r.awaitReport(reports, link.rtt(), err != nil, cancel)
	}
	if p.pages.script != nil {
		t.script = r.readScripts(ctx, p, ended, err != nil, emit)
	}
	if p.network != nil {
		t.traffic = r.witness(p, emit)
	}
	return t, addUnrequested(t.traffic.whyUnseen(err), p.pages.site, t.traffic)
}

// computes returns the name of a thread of a browser that computes; "": none does.
func computes(ctx context.Context, b *device.Browser) string {
	if b == nil {
		return ""
	}
	return machine.Busy(ctx, b.Process())
}

// reported is the report of a page, or why there is none.
type reported struct {
	report *site.Report
	err    error
}

// listen receives the report of a test page on a goroutine that sends once. It emits the report's
// events. A page that reports that it cannot play fails the run. Without a test page, listen
// returns nil.
func (r *run) listen(ctx context.Context, fail context.CancelCauseFunc, s *site.Site,
	emit func(timeline.Event)) <-chan reported {
	if s == nil {
		return nil
	}
	done := make(chan reported, 1)
	go func() {
		got, err := s.Next(ctx)
		if cannot := (*site.PageError)(nil); errors.As(err, &cannot) {
			fail(err)
		}
		if err != nil {
			done <- reported{err: err}
			return
		}
		for _, e := range got.Events() {
			emit(e)
		}
		for _, w := range got.Warnings {
			r.note("the page says: %s", w)
		}
		r.log.Info("the page has told of itself", "pictures", len(got.Drawn), "claimed_fps", got.ClaimedFPS)
		done <- reported{report: &got}
	}()
	return done
}

// A page sends its report after its red marker. Before, it reads the server's clock several times.
const (
	reportTimeout = 30 * time.Second // for a busy machine
	reportTrips   = 25
)

// awaitReport joins the goroutine of listen and returns the report; nil: the page sent none. It
// does not wait for the report of a test that has failed.
func (r *run) awaitReport(reports <-chan reported, rtt time.Duration, failed bool,
	cancel context.CancelCauseFunc) *site.Report {
	if failed {
		cancel(nil)
		return (<-reports).report
	}
	wait := reportTimeout + reportTrips*rtt
	late := time.AfterFunc(wait, func() { cancel(fmt.Errorf("timeout %v after the red marker", wait)) })
	defer late.Stop()
	got := <-reports
	if got.err != nil { // the recording has the page all the same
		r.note("the page told nothing of itself: %v", got.err)
	}
	return got.report
}

// noteSandbox warns of pages of others in a browser of this machine without a sandbox.
func (r *run) noteSandbox(s Stage) {
	stage, ok := s.(interface{ launched() *device.Browser })
	if !ok || r.Test.Page != "" && !navigates(r.Test.Steps) {
		return
	}
	if b := stage.launched(); b != nil && b.SandboxWarning() != "" {
		r.note("%s", b.SandboxWarning())
	}
}

// painterOf returns the painter of a stage, or one that loads a red page.
func painterOf(s Stage, red string) controller.Painter {
	if p := s.Painter(); p != nil || red == "" {
		return p
	}
	return loadedRed{s, red}
}

// loadedRed shows red on a device that cannot be painted on, as a page.
type loadedRed struct {
	browser controller.Browser
	address string
}

func (loadedRed) Green(context.Context) error {
	return fmt.Errorf("the device's screen cannot be painted on: %w", errors.ErrUnsupported)
}

func (p loadedRed) Red(ctx context.Context) error {
	_, err := p.browser.Load(ctx, p.address)
	return err
}

// errUnheard is the error of a browser that did not follow its input, as a user would see.
var errUnheard = errors.New("the browser did not request the page")

// addUnrequested adds errUnheard to err if the page was never requested, and its network saw no
// attempt. Requests to servers of others are known on a network of the run's own only.
func addUnrequested(err error, s *site.Site, t *traffic) error {
	var unseen *controller.UnseenError
	known := s != nil || t != nil && !t.hidden
	asked := s != nil && s.Asked() || t != nil && len(t.fall.Lookups)+len(t.fall.Requests) > 0
	if !errors.As(err, &unseen) || !known || asked {
		return err
	}
	return fmt.Errorf("%w: %w", err, errUnheard)
}

// gestures reads the files of replay and script steps. They are beside the test file.
type gestures struct {
	dir fs.FS // nil: the test is in no file
}

func (g gestures) Recorded(file string, area frame.Region) ([]input.Timed, error) {
	if g.dir == nil {
		return nil, fmt.Errorf("recording %s: the test has no folder", file)
	}
	f, err := g.dir.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	r, err := touch.Read(file, f)
	if err != nil {
		return nil, err
	}
	return r.Timed(touch.Area{X: float64(area.X), Y: float64(area.Y), Width: float64(area.Width),
		Height: float64(area.Height)}), nil
}

func (gestures) Script(text string, area frame.Region) ([]input.Timed, error) {
	return script.Parse(text, float64(area.X), float64(area.Y))
}
