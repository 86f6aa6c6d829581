package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/server/runweb"
	"github.com/eideticker/eideticker/deploy/store"
)

// What a client's side of a transfer may take, at the least speed that is put up with.
const (
	minSpeed     = 64 << 10 // bytes a second
	transferTime = 2 * time.Minute
	uploadPause  = time.Minute // without a byte
)

// file answers requests for files of a run folder, and for data made from it.
func (s *Server) file(w http.ResponseWriter, r *http.Request, _ *caller) {
	id, name := r.PathValue("id"), r.PathValue("name")
	runweb.Headers(w.Header())
	release, err := s.store.Use(id)
	if err != nil {
		s.noRun(w, r, err)
		return
	}
	defer release()
	number, isFrame := strings.CutPrefix(name, "frames/")
	switch {
	case name == "zip":
		s.zip(w, r, id)
	case isFrame:
		s.frame(w, r, id, number)
	case name == eventsFile:
		s.events(w, r, id)
	case name == report.PageName:
		s.inFolder(w, r, id, func(root *os.Root) { s.report(w, r, root) })
	default:
		s.inFolder(w, r, id, func(root *os.Root) { s.plain(w, r, root, name) })
	}
}

// plain answers with a file of the folder.
func (s *Server) plain(w http.ResponseWriter, r *http.Request, root *os.Root, name string) {
	if runweb.Hidden(name) {
		s.refuse(w, r, http.StatusNotFound, "the run has no such file")
		return
	}
	st, err := root.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		s.refuse(w, r, http.StatusNotFound, "the run has no such file")
		return
	}
	patient(w, st.Size())
	runweb.File(w, r, root, name)
}

// made answers with content that is made for each request. Its ETag is a hash of the content.
func made(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	sum := sha256.Sum256(content)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	patient(w, int64(len(content)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// noRun answers that the run does not exist, or that the ID is invalid.
func (s *Server) noRun(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, store.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, store.ErrID):
		status = http.StatusBadRequest
	}
	s.refuse(w, r, status, err.Error())
}

func (s *Server) inFolder(w http.ResponseWriter, r *http.Request, id string, do func(*os.Root)) {
	root, err := s.store.Folder(id)
	if err != nil {
		s.noRun(w, r, err)
		return
	}
	defer root.Close() // was only read
	do(root)
}

// patient gives a client the time that it needs for so many bytes.
func patient(w http.ResponseWriter, size int64) {
	// without, it is as patient as the server
	_ = http.NewResponseController(w).SetWriteDeadline(
		time.Now().Add(transferTime + time.Duration(size/minSpeed)*time.Second))
}

// report makes the page of a run anew: a page that came with the folder is not run.
func (s *Server) report(w http.ResponseWriter, r *http.Request, root *os.Root) {
	if err := s.work(r.Context()); err != nil {
		s.refuse(w, r, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.rest()
	f, err := root.Open(result.FileName)
	if err != nil {
		s.refuse(w, r, http.StatusNotFound, "the run has no results")
		return
	}
	results, err := result.Decode(f)
	_ = f.Close() // was only read
	var page []byte
	if err == nil {
		page, err = report.Page(root.FS(), results, report.PageOptions{})
	}
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, "the run's page cannot be made: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	made(w, r, report.PageName, page)
}

// frame answers with a captured frame as a picture, bit by bit as it was.
func (s *Server) frame(w http.ResponseWriter, r *http.Request, id, name string) {
	text, is := strings.CutSuffix(name, ".png")
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || !is || strconv.FormatUint(n, 10) != text {
		s.refuse(w, r, http.StatusNotFound, "frames are called frames/0.png and so on")
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), s.pictures.wait)
	defer stop()
	var picture []byte
	var tag string
	var needs int64 // bytes, where there were not so many
	keep := func(int64) {}
	defer func() { keep(0) }()
	attempt := func() error {
		if s.work(ctx) != nil {
			return errCrowded
		}
		defer s.rest() // an open recording has all its frames in memory, so few are open at once
		return s.withRecording(id, func(from *recording.Reader) (err error) {
			if n >= uint64(from.Frames()) {
				return &requestError{http.StatusNotFound, fmt.Sprintf("the recording has %d frames, counted from 0",
					from.Frames())}
			}
			segment, err := from.SegmentOf(int(n))
			if err != nil {
				return err
			}
			if needs == 0 {
				bytes := frameMemory(segment.Layout)
				if got, is := s.pictures.tryTake(bytes); is {
					keep = got
				} else {
					needs = bytes
					return errCrowded
				}
			}
			picture, tag, err = framePicture(from, int(n), r.URL.Query().Get("region"))
			return err
		})
	}
	if err = attempt(); needs > 0 { // it waits with nothing open, and in nobody's way
		if keep, err = s.pictures.take(ctx, needs); err == nil {
			err = attempt()
		}
	}
	keep(int64(len(picture))) // whoever is slow to take it holds that much
	if err != nil {
		s.noRecording(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "private, max-age=3600")
	w.Header().Set("ETag", tag)
	patient(w, int64(len(picture)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(picture))
}

// framePicture reads a frame, or a region of it.
func framePicture(r *recording.Reader, n int, region string) (picture []byte, tag string, err error) {
	img, err := r.Image(n)
	if err != nil {
		return nil, "", err
	}
	var shown image.Image = frame.NewConverter(img.Layout).Picture(img)
	if region != "" {
		if shown, err = cropped(shown, region); err != nil {
			return nil, "", err
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, shown); err != nil {
		return nil, "", err
	}
	return b.Bytes(), fmt.Sprintf(`"%x-%d-%s"`, r.Info().ID, n, strings.ReplaceAll(region, " ", "+")), nil
}

// cropped is a part of a picture, as its pixels are. A plus sign in an address is a space, if
// nobody has seen to it.
func cropped(shown image.Image, region string) (image.Image, error) {
	part, err := frame.ParseRegion(strings.ReplaceAll(region, " ", "+"))
	if err != nil {
		return nil, &requestError{http.StatusBadRequest, err.Error()}
	}
	size := shown.Bounds()
	whole, can := shown.(interface {
		SubImage(image.Rectangle) image.Image
	})
	if !can || !part.In(size.Dx(), size.Dy()) {
		return nil, &requestError{http.StatusBadRequest, fmt.Sprintf("the region %v is outside a frame of %dx%d",
			part, size.Dx(), size.Dy())}
	}
	return whole.SubImage(image.Rect(part.X, part.Y, part.X+part.Width, part.Y+part.Height)), nil
}

// zip answers with the folder of a run or a set.
func (s *Server) zip(w http.ResponseWriter, r *http.Request, id string) {
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="`+id+`.zip"`)
	if r.Method == http.MethodHead {
		return // nothing is packed that nobody gets
	}
	out := &slowly{ResponseController: http.NewResponseController(w), w: w}
	if err := s.store.Zip(r.Context(), id, out); err != nil {
		if out.began {
			s.log.Warn("a zip was not sent whole", "run", id, "error", err)
			panic(http.ErrAbortHandler) // so that the client knows too
		}
		w.Header().Del("Content-Type")
		w.Header().Del("Content-Disposition")
		s.noRun(w, r, err)
	}
}

// slowly is a client that is written to, as long as it takes something now and then.
type slowly struct {
	*http.ResponseController
	w     io.Writer
	began bool
}

func (s *slowly) Write(p []byte) (int, error) {
	s.began = true
	if err := s.SetWriteDeadline(time.Now().Add(transferTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return s.w.Write(p)
}

// push takes over a run from somebody else.
func (s *Server) push(w http.ResponseWriter, r *http.Request, c *caller) {
	if kind := r.Header.Get("Content-Type"); kind != "application/zip" {
		s.refuse(w, r, http.StatusUnsupportedMediaType, "want application/zip")
		return
	}
	if r.ContentLength > s.store.MaxUpload {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, fmt.Sprintf("a run has at most %d bytes", s.store.MaxUpload))
		return
	}
	if !s.uploads.TryLock() {
		w.Header().Set("Retry-After", "10")
		s.refuse(w, r, http.StatusServiceUnavailable, "another run is being received: try again later")
		return
	}
	defer s.uploads.Unlock()
	body := &steadily{ResponseController: http.NewResponseController(w), r: r.Body, now: s.now}
	id, known, err := s.store.Receive(r.Context(), body)
	_ = body.SetReadDeadline(time.Time{})
	switch {
	case err == nil:
	case errors.Is(err, store.ErrTooLarge):
		s.refuse(w, r, http.StatusRequestEntityTooLarge, err.Error())
		return
	case errors.Is(err, store.ErrRefused):
		s.refuse(w, r, http.StatusUnprocessableEntity, err.Error())
		return
	case errors.Is(err, store.ErrNoSpace):
		s.refuse(w, r, http.StatusInsufficientStorage, err.Error())
		return
	case errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, os.ErrDeadlineExceeded):
		s.refuse(w, r, http.StatusBadRequest, "the run did not come whole")
		return
	default:
		s.log.Error("a run could not be received", "error", err)
		s.refuse(w, r, http.StatusInternalServerError, "the run could not be kept; the rig's log says why")
		return
	}
	if known {
		s.daemon.Log().Info("a run was sent that is here already", "run", id, "from", c.owner())
		writeJSON(w, http.StatusOK, api.RunID{Run: id})
		return
	}
	s.daemon.Log().Info("run received", "run", id, "from", c.owner())
	s.daemon.Changed(id, "added")
	writeJSON(w, http.StatusCreated, api.RunID{Run: id})
}

// steadily reads a client's data, which must come at a minimum rate. A beginning gets some time,
// and each received byte adds more.
type steadily struct {
	*http.ResponseController
	r     io.Reader
	now   func() time.Time
	until time.Time // zero: nothing was asked for yet
}

func (s *steadily) Read(p []byte) (int, error) {
	now := s.now()
	if s.until.IsZero() {
		s.until = now.Add(transferTime)
	}
	if now.After(s.until) {
		return 0, errSlow
	}
	end := now.Add(uploadPause)
	if s.until.Before(end) {
		end = s.until
	}
	if err := s.SetReadDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.until = s.until.Add(time.Duration(n) * time.Second / minSpeed)
	return n, err
}

// errSlow is why a run is not taken: others wait for their turn.
var errSlow = fmt.Errorf("the run came slower than %d KiB a second: %w", minSpeed>>10, os.ErrDeadlineExceeded)
