package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"reflect"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
)

// call is one that is carried out.
type call struct {
	*caller
	socket *socket // nil: it came by HTTP POST
	from   netip.AddrPort
}

// handler carries out a method.
type handler func(ctx context.Context, c *call, params json.RawMessage) (any, error)

// method makes a handler of a function from parameters to a result.
func method[P, R any](do func(ctx context.Context, c *call, p P) (R, error)) handler {
	return func(ctx context.Context, c *call, raw json.RawMessage) (any, error) {
		var p P
		if err := decodeParams(raw, &p); err != nil {
			return nil, err
		}
		return do(ctx, c, p)
	}
}

// decodeParams reads parameters strictly.
func decodeParams(raw json.RawMessage, into any) error {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = []byte("{}")
	}
	if raw[0] != '{' {
		return api.Errorf(api.InvalidParams, "takes an object of parameters by their names")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return missing(raw, into)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		what := wrong.Field
		if what == "" {
			what = "its parameters"
		}
		kind := "object"
		if wrong.Type.Kind() != reflect.Struct {
			kind = typeName(wrong.Type)
		}
		return api.Errorf(api.InvalidParams, "takes for %.80s a value of type %s, not %s", what, kind, wrong.Value)
	}
	if name, is := strings.CutPrefix(err.Error(), `json: unknown field "`); is {
		name = strings.TrimSuffix(name, `"`)
		text := fmt.Sprintf("has no parameter %.80q%s", name, wording.Near(name, fieldNames(into)))
		return &api.Error{Code: api.InvalidParams, Message: text}
	}
	return api.Errorf(api.InvalidParams, "has parameters that cannot be read: %v", err)
}

// fieldNames are those of parameters, and of the objects in them.
func fieldNames(of any) []string { return namesIn(reflect.TypeOf(of)) }

func namesIn(t reflect.Type) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range fieldsOf(t) {
		names = append(append(names, f.name), namesIn(f.typ)...)
	}
	return names
}

// missing says which parameter is not there that must be.
func missing(raw json.RawMessage, of any) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return api.Errorf(api.InvalidParams, "has parameters that cannot be read: %v", err)
	}
	for _, f := range fieldsOf(reflect.TypeOf(of).Elem()) {
		if _, there := given[f.name]; !there && !f.optional {
			return api.Errorf(api.InvalidParams, "needs the parameter %s", f.name)
		}
	}
	return nil
}

// answer carries out a message: a call or a batch. It returns nothing where nothing is to be
// answered, and which code went wrong with a single call.
func (s *Server) answer(ctx context.Context, c *call, message []byte, allow func(n int) bool) (out []byte,
	code api.Code) {
	message = bytes.TrimSpace(message)
	if err := wellFormed(message); err != nil {
		return single(s.wrong(c, nil, err))
	}
	if message[0] != '[' {
		var r *api.Response
		if allow(1) {
			r = s.one(ctx, c, message)
		} else {
			r = s.wrong(c, idOf(message), errTooMany)
		}
		return single(r)
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(message, &batch); err != nil {
		return single(s.wrong(c, nil, api.Errorf(api.ParseError, "%v", err)))
	}
	if len(batch) == 0 || len(batch) > api.MaxBatch {
		return single(s.wrong(c, nil, api.Errorf(api.InvalidRequest, "a batch has 1 to %d calls, not %d", api.MaxBatch,
			len(batch))))
	}
	if !allow(len(batch)) {
		return single(s.wrong(c, nil, errTooMany))
	}
	var all []*api.Response
	for _, m := range batch {
		if r := s.one(ctx, c, m); r != nil {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	return encode(all), 0
}

var errTooMany = api.Errorf(api.TooMany, "that is more calls than are taken: slow down")

func single(r *api.Response) ([]byte, api.Code) {
	if r == nil {
		return nil, 0
	}
	var code api.Code
	if r.Error != nil {
		code = r.Error.Code
	}
	return encode(r), code
}

// wellFormed returns the first JSON error of a message.
func wellFormed(message []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > api.MaxNesting {
				return api.Errorf(api.ParseError, "the message nests deeper than %d", api.MaxNesting)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if !json.Valid(message) {
		return api.Errorf(api.ParseError, "the message is not JSON")
	}
	if message[0] != '{' && message[0] != '[' {
		return api.Errorf(api.InvalidRequest, "the message is neither a call nor a batch of calls")
	}
	return nil
}

// one carries out a call, and returns nothing for a notification.
func (s *Server) one(ctx context.Context, c *call, raw json.RawMessage) *api.Response {
	var r api.Request
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || r.Version != api.JSONRPC || !goodID(r.ID) {
		return s.wrong(c, idOf(raw),
			api.Errorf(api.InvalidRequest,
				`a call is {"jsonrpc": "2.0", "id": …, "method": "…", "params": {…}}; id is a string or number`))
	}
	result, err := s.invoke(ctx, c, &r)
	answer := response(r.ID, result, err)
	if answer.Error != nil {
		s.noteCall(c, answer.Error)
	}
	if r.ID == nil {
		return nil
	}
	return answer
}

// wrong answers an invalid call, or one that is not executed.
func (s *Server) wrong(c *call, id json.RawMessage, err error) *api.Response {
	r := response(id, nil, err)
	s.noteCall(c, r.Error)
	return r
}

// noteCall writes a line into the log about a call that was not carried out.
func (s *Server) noteCall(c *call, e *api.Error) {
	s.note(c.from, slog.LevelInfo, "call refused", "code", e.Code, "why", clip(e.Message), "owner", c.owner())
}

// invoke finds the method and checks that the caller may.
func (s *Server) invoke(ctx context.Context, c *call, r *api.Request) (any, error) {
	m, there := api.FindMethod(r.Method)
	if !there {
		return nil, unknown(r.Method)
	}
	if m.Socket && c.socket == nil {
		return nil, api.Errorf(api.UnknownMethod, "%s is there by websocket only", m.Name)
	}
	if !c.role().Allows(m.Role) {
		return nil, api.Errorf(api.Forbidden, "%s needs the role %s, and the token has %s", m.Name, m.Role, c.role())
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	result, err := s.methods[m.Name](ctx, c, r.Params)
	var told *api.Error
	if errors.As(err, &told) {
		if told.Code == api.InvalidParams && !strings.HasPrefix(told.Message, m.Name) {
			told = &api.Error{Code: told.Code, Message: said(m.Name, told.Message)}
		}
		return nil, told
	}
	if err != nil {
		s.log.Error("a call failed", "method", m.Name, "error", err)
		return nil, api.Errorf(api.Internal, "%s failed; the rig's log says how", m.Name)
	}
	return result, nil
}

// said makes a sentence about a method's parameters.
func said(name, message string) string {
	for _, verb := range []string{"takes ", "has ", "needs "} {
		if strings.HasPrefix(message, verb) {
			return name + " " + message
		}
	}
	return name + ": " + message
}

func unknown(name string) error {
	var names []string
	for _, m := range api.Methods() {
		names = append(names, m.Name)
	}
	text := fmt.Sprintf("unknown method %.80q%s", name, wording.Near(name, names))
	return &api.Error{Code: api.UnknownMethod, Message: text}
}

// goodID reports whether an ID is a string, a number or null. None is that of a notification.
func goodID(id json.RawMessage) bool {
	return len(id) == 0 || len(id) <= 200 && strings.IndexByte(`"-0123456789n`, id[0]) >= 0
}

// idOf finds the ID of an invalid call.
func idOf(raw json.RawMessage) json.RawMessage {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(raw, &r) != nil || !goodID(r.ID) {
		return nil
	}
	return r.ID
}

func response(id json.RawMessage, result any, err error) *api.Response {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	r := &api.Response{Version: api.JSONRPC, ID: id}
	if err == nil {
		if r.Result, err = json.Marshal(result); err != nil {
			err = api.Errorf(api.Internal, "the result cannot be sent: %v", err)
		}
	}
	if err != nil {
		r.Result = nil
		if !errors.As(err, &r.Error) {
			r.Error = api.Errorf(api.Internal, "%v", err)
		}
	}
	return r
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("api: a response cannot be encoded: " + err.Error()) // its parts have been
	}
	return out
}

// post answers a call by HTTP.
func (s *Server) post(w http.ResponseWriter, r *http.Request, c *caller) {
	if !isJSON(r) {
		s.refuse(w, r, http.StatusUnsupportedMediaType, "want application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxMessage))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		s.refuse(w, r, http.StatusRequestEntityTooLarge, fmt.Sprintf("a call has at most %d bytes", api.MaxMessage))
		return
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, "the call did not come whole")
		return
	}
	from := remote(r)
	out, code := s.answer(r.Context(), &call{caller: c, from: addrPort(r.RemoteAddr)}, body,
		func(n int) bool { return s.calls.allow(from, n, s.now()) })
	w.Header().Set("Cache-Control", "no-store")
	if out == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status(code))
	_, _ = w.Write(out) // the client has disconnected
}

// status is the HTTP status of a single call.
func status(code api.Code) int {
	for _, c := range api.Codes() {
		if c.Code == code {
			return c.HTTP
		}
	}
	return http.StatusOK
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
