package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// session is what one controller does. One goroutine reads, and answers what only asks for the
// time; another one uses the driver.
type session struct {
	*agent
	wire *wire.Conn

	held input.Held // of the goroutine that uses the driver
	// unsure: an action failed, and the held keys may differ.
	unsure bool
}

// job is a request that uses the driver.
type job struct {
	request
	actions  []input.Action
	received timeline.Time
	ctx      context.Context
	cancel   context.CancelFunc
	done     chan struct{} // closed before the reply
}

// run returns nil if the controller said goodbye.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	jobs := make(chan *job, 1)
	var worker sync.WaitGroup
	worker.Go(func() {
		for j := range jobs {
			s.perform(j)
		}
	})
	defer worker.Wait()
	defer close(jobs)
	defer cancel()
	var current *job
	for {
		var r request
		if err := s.wire.Read(&r, patience); err != nil {
			return err
		}
		received := s.Clock.Now()
		switch r.Op {
		case opBye:
			return nil
		case opClock:
			if err := s.answer(reply{ID: r.ID, Received: received}); err != nil {
				return err
			}
		case opCancel:
			if current != nil && current.ID == r.ID {
				current.cancel()
			}
		case opDo, opRelease:
			if current != nil && !current.over() {
				return errors.New("controller asks for two things at once")
			}
			j, err := s.job(ctx, r, received)
			if err != nil {
				return err
			}
			current = j
			jobs <- j
		default:
			err := fmt.Errorf("operation %.40q: %w", r.Op, errors.ErrUnsupported)
			if err := s.answer(reply{ID: r.ID, Received: received, Error: failureOf(err)}); err != nil {
				return err
			}
		}
	}
}

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// ahead bounds how far in the future a request may lie: the rig waits until shortly before.
const ahead = 10 * time.Second

func (s *session) job(ctx context.Context, r request, received timeline.Time) (*job, error) {
	j := &job{request: r, received: received, done: make(chan struct{})}
	if r.Op == opDo {
		var err error
		if j.actions, err = unpack(r.Actions); err != nil {
			return nil, fmt.Errorf("controller asks for what cannot be: %w", err)
		}
		if r.At > received.Add(ahead) {
			return nil, fmt.Errorf("controller asks for something %v from now", r.At.Sub(received))
		}
	}
	j.ctx, j.cancel = context.WithCancel(ctx)
	return j, nil
}

// perform does a job and replies. An error of the reply is the reader's too.
func (s *session) perform(j *job) {
	defer j.cancel()
	a := reply{ID: j.ID, Received: j.received}
	var err error
	if j.Op == opRelease {
		err = s.release(j.ctx)
	} else {
		var sent timeline.Interval
		sent, err = s.do(j)
		a.Earliest, a.Latest = sent.Earliest, sent.Latest
	}
	a.Error = failureOf(err)
	close(j.done)
	if s.answer(a) != nil {
		s.wire.Close()
	}
}

func (s *session) do(j *job) (timeline.Interval, error) {
	if err := j.ctx.Err(); err != nil {
		return timeline.Interval{}, err
	}
	sent, err := s.Driver.Do(j.ctx, j.At, j.actions...)
	switch {
	case err == nil:
		s.held.Note(j.actions...)
	case !errors.Is(err, errors.ErrUnsupported):
		s.unsure = true
	}
	return sent, err
}

func (s *session) release(ctx context.Context) error {
	err := s.Driver.Release(ctx)
	if err == nil {
		s.held, s.unsure = input.Held{}, false
	}
	return err
}

func (s *session) answer(r reply) error {
	return s.wire.Write(&r, func() { r.Sent = s.Clock.Now() })
}

// liftTimeout is how long lifting may take when a controller has gone.
const liftTimeout = 5 * time.Second

// lift lets go of all that a controller has left behind, and says of what. The context of the agent
// may have ended: fingers are lifted all the same.
func (s *session) lift() (told []string) {
	for _, a := range s.held.Lift() {
		told = append(told, a.String())
	}
	if s.unsure {
		told = append(told, "all that was held by what failed")
	}
	ctx, cancel := context.WithTimeout(context.Background(), liftTimeout)
	defer cancel()
	if err := s.release(ctx); err != nil {
		told = append(told, fmt.Sprintf("and this failed: %v", err))
	}
	return told
}
