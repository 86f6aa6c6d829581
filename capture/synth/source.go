package synth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// markerFrames is how long green and red are held.
const markerFrames = 30

// Source plays a scene.
type Source struct {
	config
	geo    *geometry
	mem    arena
	script *script
	list   []blit // the blits of the current frame
	truth  Truth
	info   capture.Info
	closed bool

	first      uint64 // frame with which the scene starts: after the green
	total      uint64 // frames in all, or 0 without end
	green, red *sheet // nil without markers

	clock timeline.Clock
	wait  waitFunc
}

// Open makes a scene ready to be played: it draws what the scene needs, which takes up to some
// seconds and hundreds of megabytes at the largest sizes. Parameters are those of the URI
// synth:SCENE?… and are taken strictly.
func Open(scene string, params url.Values) (*Source, error) {
	r, err := findScene(scene)
	if err != nil {
		return nil, err
	}
	if err := frame.CheckParams("synth:"+scene, params, parameterNames(scene)...); err != nil {
		return nil, err
	}
	c, err := parse(params)
	if err != nil {
		return nil, &frame.ParamsError{Err: fmt.Errorf("synth:%s: %w", scene, err)}
	}
	s := &Source{config: c, clock: timeline.Monotonic()}
	s.wait = timeline.SleepUntil
	if err := s.build(r); err != nil {
		return nil, fmt.Errorf("synth:%s: %w", scene, joinClose(err, &s.mem))
	}
	uri := "synth:" + scene
	if len(params) > 0 {
		uri += "?" + strings.ReplaceAll(params.Encode(), "%2F", "/")
	}
	if err := s.describe(uri); err != nil {
		return nil, joinClose(err, &s.mem)
	}
	return s, nil
}

// joinClose releases mem after err and joins the errors.
func joinClose(err error, mem *arena) error {
	if closing := mem.close(); closing != nil {
		return fmt.Errorf("%w (and then: %w)", err, closing)
	}
	return err
}

func (s *Source) build(r recipe) error {
	var err error
	if s.geo, err = newGeometry(s.format); err != nil {
		return err
	}
	k := &kit{config: s.config, geo: s.geo, mem: &s.mem}
	if k.fonts, err = loadFonts(); err != nil {
		return err
	}
	err = s.render(k, r)
	if closing := k.scratch.close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	s.tell(r.Name)
	return nil
}

// render draws the scene and its markers.
func (s *Source) render(k *kit, r recipe) error {
	var err error
	if s.script, err = r.build(k); err != nil || !s.markers {
		return err
	}
	if s.green, err = k.solid(s.format.Width, s.format.Height, green); err != nil || s.frames == 0 {
		return err
	}
	s.red, err = k.solid(s.format.Width, s.format.Height, red)
	return err
}

// describe fills in what Info returns.
func (s *Source) describe(uri string) error {
	value, err := json.Marshal(&s.truth)
	if err != nil {
		return fmt.Errorf("write %s: %w", truthName, err)
	}
	s.info = capture.Info{
		URI:      uri,
		Format:   s.format,
		Clocked:  s.realtime,
		OwnClock: !s.realtime,
		Period:   s.fps.period(),
		Frames:   s.total,
		Metadata: []capture.Metadata{{Name: truthName, Value: value}},
	}
	return nil
}

// Info says what the source delivers; the scene's truth is among its metadata.
func (s *Source) Info() capture.Info { return s.info }

// Truth returns the scene's truth. The caller must not change what it points to.
func (s *Source) Truth() Truth { return s.truth }

// Render writes frame n, padding included, to dst, which must hold Info().Format.Size() bytes. It
// equals frame n of a recording of the source. Frames may be rendered in any order, without
// allocation. After the last frame it repeats that frame. It panics after Close.
func (s *Source) Render(n uint64, dst []byte) {
	if s.closed {
		panic("synth: Render after Close")
	}
	s.list = s.blits(n, s.list[:0])
	s.geo.paint(dst[:s.geo.size], s.list)
}

// blits appends what frame n shows, markers included.
func (s *Source) blits(n uint64, list []blit) []blit {
	if s.total > 0 {
		n = min(n, s.total-1)
	}
	switch {
	case n < s.first:
		return append(list, whole(s.green, 0, 0))
	case s.red != nil && n >= s.first+s.frames:
		return append(list, whole(s.red, 0, 0))
	}
	return s.script.draw(n-s.first, list)
}

// Close gives the scene's memory back. It is idempotent.
func (s *Source) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.mem.close(); err != nil {
		return fmt.Errorf("close %s: %w", s.info.URI, err)
	}
	return nil
}

// errClosed is what Run returns after Close.
func (s *Source) errClosed() error {
	return fmt.Errorf("play %s: %w", s.info.URI, os.ErrClosed)
}
