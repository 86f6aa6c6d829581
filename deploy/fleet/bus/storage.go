package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket implements [Hub].
func (s *Server) Bucket(name string) Bucket { return bucket{s, name} }

// Log implements [Hub].
func (s *Server) Log() Records { return records{s} }

// Blobs implements [Hub].
func (s *Server) Blobs() Blobs { return blobs{s} }

// bucket is a stream with a subject per key. An entry is the last message of its subject, and its
// revision is the sequence. The stream has no limit per subject: JetStream does not record
// the removal of a message by such a limit. After a delete and a kill an old revision would return.
// Superseded messages are therefore deleted, which is recorded.
type bucket struct {
	s    *Server
	name string
}

// jobShards is the number of streams of the bucket of jobs. Each has its own file, so that changes
// of several jobs are synced at the same time. A job has one of them by its key.
const jobShards = 8

func jobShard(n uint32) string { return fmt.Sprintf("%s-%d", Jobs, n) }

// of returns the part of a bucket that has a key.
func (b bucket) of(key string) bucket {
	if b.name == Jobs {
		h := fnv.New32a()
		_, _ = h.Write([]byte(key)) // never fails
		b.name = jobShard(h.Sum32() % jobShards)
	}
	return b
}

// deletedHeader marks a delete until the subject is purged.
const deletedHeader = "Eideticker-Deleted"

// subject returns a key as one token: a key may begin and end with points.
func subject(name, key string) string {
	return "store." + name + "." + strings.ReplaceAll(key, ".", "=")
}

func (b bucket) entry(subject string, value []byte, revision uint64) Entry {
	return Entry{strings.ReplaceAll(strings.TrimPrefix(subject, "store."+b.name+"."), "=", "."), value, revision}
}

func (b bucket) stream() (jetstream.Stream, error) {
	if stream := b.s.streams[b.name]; stream != nil {
		return stream, nil
	}
	return nil, fmt.Errorf("open bucket %.40q: unknown name", b.name)
}

func (b bucket) Get(ctx context.Context, key string) (Entry, error) {
	if err := checkEntry(key, nil); err != nil {
		return Entry{}, err
	}
	b = b.of(key)
	stream, err := b.stream()
	if err != nil {
		return Entry{}, err
	}
	var m *jetstream.RawStreamMsg
	err = repeat(ctx, func(ctx context.Context) (err error) {
		m, err = stream.GetLastMsgForSubject(ctx, subject(b.name, key))
		return err
	})
	if err != nil {
		return Entry{}, fmt.Errorf("read %s %s: %w", b.name, key, b.s.fail(err))
	}
	if m.Header.Get(deletedHeader) != "" {
		return Entry{Revision: m.Sequence}, fmt.Errorf("read %s %s: %w", b.name, key, ErrNotFound)
	}
	return b.entry(m.Subject, m.Data, m.Sequence), nil
}

func (b bucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	r := b.PutAll(ctx, []Entry{{key, value, revision}})[0]
	return r.Revision, r.Err
}

// PutAll sends all messages and then waits, so that several files are synced at the same time.
func (b bucket) PutAll(ctx context.Context, entries []Entry) []Stored {
	all, sent := make([]Stored, len(entries)), make([]jetstream.PubAckFuture, len(entries))
	room := b.s.hasRoom()
	for i, e := range entries {
		of := b.of(e.Key)
		err := errors.Join(checkEntry(e.Key, e.Value), room, ctx.Err())
		if err == nil && e.Revision == 0 {
			err = of.mayGrow(ctx)
		}
		if err == nil {
			sent[i], err = b.s.js.PublishMsgAsync(&nats.Msg{Subject: subject(of.name, e.Key), Data: e.Value},
				jetstream.WithExpectLastSequencePerSubject(e.Revision))
		}
		all[i].Err = err
	}
	for i, e := range entries {
		if sent[i] != nil {
			select {
			case ack := <-sent[i].Ok():
				all[i].Revision = ack.Sequence
			case err := <-sent[i].Err():
				all[i].Err = b.s.fail(err)
			case <-ctx.Done():
				all[i].Err = ctx.Err()
			}
		}
		if e.Revision == 0 && errors.Is(all[i].Err, ErrConflict) {
			all[i] = b.of(e.Key).putDeleted(ctx, e)
		}
		if all[i].Err != nil {
			all[i].Err = fmt.Errorf("store %s %.130q: %w", b.name, e.Key, all[i].Err)
		} else {
			b.of(e.Key).drop(e.Revision)
		}
	}
	return all
}

// putDeleted stores a new entry after a delete that has not ended.
func (b bucket) putDeleted(ctx context.Context, e Entry) Stored {
	old, err := b.Get(ctx, e.Key)
	if !errors.Is(err, ErrNotFound) || old.Revision == 0 {
		return Stored{Err: ErrConflict}
	}
	ack, err := b.s.publish(ctx, &nats.Msg{Subject: subject(b.name, e.Key), Data: e.Value},
		jetstream.WithExpectLastSequencePerSubject(old.Revision))
	if err != nil {
		return Stored{Err: err}
	}
	b.drop(old.Revision)
	return Stored{Revision: ack.Sequence}
}

// mayGrow keeps an eighth of the bucket for changes of its entries. It looks once a second.
func (b bucket) mayGrow(ctx context.Context) error {
	stream, err := b.stream()
	if err != nil {
		return err
	}
	b.s.mu.Lock()
	seen := b.s.used[b.name]
	b.s.mu.Unlock()
	if now := time.Now(); now.Sub(seen.at) > time.Second || now.Before(seen.at) || seen.err != nil {
		info, err := stream.Info(ctx)
		if err != nil {
			return b.s.fail(err)
		}
		seen = usage{at: now}
		if limit := info.Config.MaxBytes; info.State.Bytes > uint64(limit-limit/8) {
			seen.err = fmt.Errorf("%w: %s has %d of %d bytes", ErrFull, b.name, info.State.Bytes, limit)
		}
		b.s.mu.Lock()
		b.s.used[b.name] = seen
		b.s.mu.Unlock()
	}
	return seen.err
}

// usage is the latest check of a bucket.
type usage struct {
	at  time.Time
	err error // ErrFull
}

// maxSuperseded is the number of superseded messages that wait for their delete, in 6 MiB. Others
// stay until the next start, or until their entry is deleted.
const maxSuperseded = 1 << 18

// superseded is a message that has a successor.
type superseded struct {
	stream   string
	revision uint64
}

// drop has a superseded message deleted.
func (b bucket) drop(revision uint64) {
	if revision > 0 {
		select {
		case b.s.superseded <- superseded{b.name, revision}:
		default:
		}
	}
}

// maxDrops is the number of deletes that wait for the storage at a time. There is one for each
// dropsEach waiting messages. The server discards all requests when 10,000 wait, and does not
// answer [jetstream.Stream.Info] while others wait.
const (
	maxDrops  = 8
	dropsEach = 256
)

// dropAll deletes superseded messages until the context ends.
func (s *Server) dropAll(ctx context.Context) {
	done := make(chan error)
	for working, failed := 0, false; ; {
		var next <-chan superseded
		if working < min(1+len(s.superseded)/dropsEach, maxDrops) {
			next = s.superseded
		}
		select {
		case m := <-next:
			working++
			go func() { done <- s.dropOne(ctx, m) }()
		case err := <-done:
			working--
			if err != nil && !failed && ctx.Err() == nil {
				s.log.line(slog.LevelWarn, "delete a superseded message: %v", []any{err})
			}
			failed = err != nil
		case <-ctx.Done():
			for ; working > 0; working-- {
				<-done
			}
			return
		}
	}
}

// dropOne deletes a superseded message. One that fails is repeated after the others. If few wait,
// half of the storage's time is for others.
func (s *Server) dropOne(ctx context.Context, m superseded) error {
	begin, pause := time.Now(), time.Duration(0)
	err := s.streams[m.stream].DeleteMsg(ctx, m.revision)
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) && strings.HasSuffix(err.Error(), " found") {
		err = nil
	}
	if err != nil {
		pause = time.Second
		bucket{s, m.stream}.drop(m.revision)
	} else if len(s.superseded) < dropsEach {
		pause = time.Since(begin)
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	return err
}

// Delete stores a mark, which only the last revision permits. It then removes all messages of the
// key, so that the storage does not grow with deleted entries.
func (b bucket) Delete(ctx context.Context, key string, revision uint64) error {
	b = b.of(key)
	stream, err := b.stream()
	if err != nil {
		return err
	}
	var ack *jetstream.PubAck
	if _, err = b.Get(ctx, key); err == nil && revision == 0 {
		err = ErrConflict
	}
	if err == nil {
		ack, err = b.s.publish(ctx, &nats.Msg{Subject: subject(b.name, key), Header: nats.Header{deletedHeader: {"1"}}},
			jetstream.WithExpectLastSequencePerSubject(revision))
	}
	if err == nil {
		err = b.purge(ctx, stream, key, ack.Sequence)
	}
	if err != nil {
		return fmt.Errorf("delete %s %.130q: %w", b.name, key, err)
	}
	return nil
}

func (b bucket) purge(ctx context.Context, stream jetstream.Stream, key string, last uint64) error {
	return b.s.fail(stream.Purge(ctx, jetstream.WithPurgeSubject(subject(b.name, key)),
		jetstream.WithPurgeSequence(last+1)))
}

// All ends deletes that a kill has interrupted. Superseded messages are deleted afterwards.
func (b bucket) All(ctx context.Context) (all []Entry, err error) {
	parts := []bucket{b}
	if b.name == Jobs {
		parts = parts[:0]
		for i := range uint32(jobShards) {
			parts = append(parts, bucket{b.s, jobShard(i)})
		}
	}
	var reading sync.WaitGroup
	found := make([]struct {
		entries []Entry
		old     []uint64
		err     error
	}, len(parts))
	for i, b := range parts {
		reading.Go(func() { found[i].entries, found[i].old, found[i].err = b.all(ctx) })
	}
	reading.Wait()
	for _, f := range found {
		all, err = append(all, f.entries...), errors.Join(err, f.err)
	}
	if err == nil {
		for i, f := range found {
			for _, revision := range f.old {
				parts[i].drop(revision)
			}
		}
	}
	return all, err
}

// all also returns the revisions of superseded messages.
func (b bucket) all(ctx context.Context) (kept []Entry, old []uint64, err error) {
	stream, err := b.stream()
	if err != nil {
		return nil, nil, err
	}
	deleted := map[uint64]bool{}
	all, err := b.s.read(ctx, stream, 1, -1, func(m jetstream.Msg, revision uint64) Entry {
		if m.Headers().Get(deletedHeader) != "" {
			deleted[revision] = true
		}
		return b.entry(m.Subject(), m.Data(), revision)
	})
	last := map[string]int{} // an entry may change while it is read
	for i, e := range all {
		last[e.Key] = i
	}
	kept = all[:0]
	for i, e := range all {
		switch {
		case last[e.Key] != i:
			old = append(old, e.Revision)
		case deleted[e.Revision]:
			err = errors.Join(err, b.purge(ctx, stream, e.Key, e.Revision))
		default:
			kept = append(kept, e)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", b.name, err)
	}
	return kept, old, nil
}

type records struct{ s *Server }

func (r records) Append(ctx context.Context, log string, value []byte, id string) error {
	if err := checkRecord(log, value, id); err != nil {
		return err
	}
	var options []jetstream.PublishOpt
	if id != "" {
		options = append(options, jetstream.WithMsgID(id))
	}
	err := r.s.hasRoom()
	if err == nil {
		_, err = r.s.publish(ctx, &nats.Msg{Subject: subject(log, "entry"), Data: value}, options...)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", log, err)
	}
	return nil
}

func (r records) Read(ctx context.Context, log string, from uint64, limit int) ([]Entry, error) {
	if err := checkRecord(log, nil, ""); err != nil {
		return nil, err
	}
	all, err := r.s.read(ctx, r.s.streams[log], max(from, 1), max(limit, 0), func(m jetstream.Msg, n uint64) Entry {
		return Entry{m.Headers().Get(jetstream.MsgIDHeader), m.Data(), n}
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", log, err)
	}
	return all, nil
}

// read returns messages of a stream from a sequence on, up to the stream's present end. A negative
// limit returns all.
func (s *Server) read(ctx context.Context, stream jetstream.Stream, from uint64, limit int,
	entry func(jetstream.Msg, uint64) Entry,
) ([]Entry, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, s.fail(err)
	}
	if limit < 0 || uint64(limit) > info.State.Msgs {
		limit = int(info.State.Msgs)
	}
	if limit == 0 || from > info.State.LastSeq {
		return nil, nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, InactiveThreshold: time.Minute})
	if err != nil {
		return nil, s.fail(err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(min(limit, 1000)))
	if err != nil {
		return nil, s.fail(err)
	}
	defer messages.Stop()
	all := make([]Entry, 0, limit)
	for {
		m, err := messages.Next(jetstream.NextMaxWait(storeTime))
		if err != nil {
			return nil, s.fail(err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		all = append(all, entry(m, meta.Sequence.Stream))
		if len(all) == limit || meta.Sequence.Stream >= info.State.LastSeq ||
			meta.NumPending == 0 && !s.isBehind(ctx, stream, from, len(all)) {
			return all, ctx.Err()
		}
	}
}

// isBehind reports whether a server of a cluster that delivered n messages has more to come. It may
// not have applied all that the leader acknowledged. Only buckets have deleted messages at their
// end, and these are read from the start. So only then the messages are counted.
func (s *Server) isBehind(ctx context.Context, stream jetstream.Stream, from uint64, n int) bool {
	if len(s.options.Cluster) == 0 {
		return false
	}
	if from > 1 {
		return true
	}
	info, err := stream.Info(ctx)
	return err != nil || uint64(n) < info.State.Msgs
}

type blobs struct{ s *Server }

func (b blobs) Put(ctx context.Context, sha256 string, content []byte) error {
	if err := checkBlob(sha256, content); err != nil {
		return err
	}
	_, err := b.s.blobs.GetInfo(ctx, sha256)
	if err = b.s.fail(err); errors.Is(err, ErrNotFound) {
		if err = b.s.hasRoom(); err == nil {
			_, err = b.s.blobs.PutBytes(ctx, sha256, content)
			err = b.s.fail(err)
		}
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", sha256, err)
	}
	return nil
}

func (b blobs) Get(ctx context.Context, sha256 string) ([]byte, error) {
	if err := checkBlob(sha256, nil); err != nil {
		return nil, err
	}
	content, err := b.s.blobs.GetBytes(ctx, sha256)
	for began := time.Now(); errors.Is(err, jetstream.ErrDigestMismatch) && time.Since(began) < answerTime &&
		ctx.Err() == nil; content, err = b.s.blobs.GetBytes(ctx, sha256) {
		time.Sleep(50 * time.Millisecond) // a server of a cluster may not have all pieces yet
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", sha256, b.s.fail(err))
	}
	return content, nil
}

func (b blobs) Delete(ctx context.Context, sha256 string) error {
	if err := checkBlob(sha256, nil); err != nil {
		return err
	}
	err := repeat(ctx, func(ctx context.Context) error { return b.s.blobs.Delete(ctx, sha256) })
	if err = b.s.fail(err); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete %s: %w", sha256, err)
	}
	return nil
}

func (s *Server) publish(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := s.js.PublishMsg(ctx, m, options...)
	return ack, s.fail(err)
}

func (s *Server) hasRoom() error {
	if s.room == nil {
		return nil
	}
	if !s.server.JetStreamEnabled() {
		return fmt.Errorf("the storage has stopped: %s", s.log.reason())
	}
	return s.room.check()
}

// Codes of the server that the client has no names for.
const (
	codeResources   = 10002 // of the account
	codeResources2  = 10023 // of the server
	codeStorage     = 10047
	codeStoreFailed = 10077 // the text has the cause
)

// fail turns the errors of the server into those of this package.
func (s *Server) fail(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrObjectNotFound):
		return ErrNotFound
	case errors.As(err, &api):
		switch api.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return ErrConflict
		case codeResources, codeResources2, codeStorage:
			return fmt.Errorf("%w: %s", ErrFull, api.Description)
		case codeStoreFailed:
			if strings.Contains(api.Description, "maximum bytes") || strings.Contains(api.Description, "no space") {
				return fmt.Errorf("%w: %s", ErrFull, api.Description)
			}
		}
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return fmt.Errorf("the storage has stopped: %w (%s)", err, s.log.reason())
	}
	return err
}
