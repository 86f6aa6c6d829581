package api

import (
	"encoding/json"
	"fmt"
)

// Request is a call, or without an ID a notification.
type Request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Response answers a call. One of Result and Error is there.
type Response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Notification is what a rig says without being asked.
type Notification struct {
	Version string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// JSONRPC is the version of the protocol.
const JSONRPC = "2.0"

// Code is the kind of an error, for programs.
type Code int

// The codes. The first five are those of JSON-RPC.
const (
	ParseError     Code = -32700
	InvalidRequest Code = -32600
	UnknownMethod  Code = -32601
	InvalidParams  Code = -32602
	Internal       Code = -32603

	Forbidden   Code = -32001
	NotFound    Code = -32002
	Busy        Code = -32003
	Conflict    Code = -32004
	TooMany     Code = -32005
	Unavailable Code = -32006
	Failed      Code = -32007
)

// CodeAbout describes a code.
type CodeAbout struct {
	Code  Code
	Name  string
	HTTP  int // status of an answer to a single call by HTTP
	About string
}

// Codes are all there are.
func Codes() []CodeAbout {
	return []CodeAbout{
		{ParseError, "parse error", 400, "the message is not JSON"},
		{InvalidRequest, "invalid request", 400, "the message is JSON, and no JSON-RPC 2.0 request or batch of such"},
		{UnknownMethod, "unknown method", 404, "the method does not exist, or not on this transport"},
		{InvalidParams, "invalid params", 400, "a parameter is unknown, of the wrong type, or not within its limits"},
		{Internal, "internal", 500, "the rig itself failed; its log says how"},
		{Forbidden, "forbidden", 403, "the token's role does not allow it"},
		{NotFound, "not found", 404, "unknown run, job, device, test or baseline"},
		{Busy, "busy", 409, "the device or the run is in use, or reserved for somebody else"},
		{Conflict, "conflict", 409, "the request does not fit the current state"},
		{TooMany, "too many", 429, "a limit of the rig is reached: calls a second, jobs that wait, subscriptions"},
		{Unavailable, "unavailable", 503, "the device is under quarantine, the disk is full, or the rig is ending"},
		{Failed, "failed", 500, "the request was tried, and failed"},
	}
}

// Error describes a failed call.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"` // a sentence for people
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error of a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}
