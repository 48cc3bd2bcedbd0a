package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// validator checks payloads against a schema of ours, with the library that Go
// clients check them with.
func validator(t testing.TB, text string) func(what, payload string) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return func(what, payload string) {
		t.Helper()
		var v any
		if err := json.Unmarshal([]byte(payload), &v); err != nil {
			t.Fatalf("%s: %v in %s", what, err, payload)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: %v in %s", what, err, payload)
		}
	}
}

// accepts reports whether the input schema of run lets arguments pass.
func TestRunInputSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(runInput), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		`{"command":["a"]}`:                               true,
		`{"command":["a"],"shell":false}`:                 true,
		`{"command":["a"],"shell":true}`:                  true,
		`{"command":"a b","shell":true}`:                  true,
		`{"command":"a b"}`:                               false,
		`{"command":"a b","shell":false}`:                 false,
		`{"command":[]}`:                                  false,
		`{}`:                                              false,
		`{"command":["a"],"whatever":1}`:                  true,
		`{"command":["a"],"deadline_ms":0}`:               false,
		`{"command":["a"],"deadline_ms":0.5}`:             true,
		`{"command":["a"],"env":{"vars":{"A":1}}}`:        false,
		`{"command":["a"],"env":{"mode":"merge"},"x":{}}`: true,
	} {
		var v any
		if err := json.Unmarshal([]byte(args), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); (err == nil) != want {
			t.Errorf("%s passes: %t (%v), want %t", args, err == nil, err, want)
		}
	}
}

// Every schema is an object that clients can use: open, and with no member
// required that a record may lack.
func TestSchemas(t *testing.T) {
	th := newTheatre(t, nil, nil)
	for _, tool := range th.tools() {
		for _, s := range []string{string(tool.InputSchema), string(tool.OutputSchema)} {
			validator(t, s)
			if !strings.HasPrefix(s, `{"type":"object",`) || strings.Contains(s, `"additionalProperties":false`) {
				t.Errorf("%s: %s", tool.Name, s)
			}
		}
		a := tool.Annotations
		if a.DestructiveHint == nil || a.OpenWorldHint == nil || tool.Title == "" {
			t.Errorf("%s lacks a title or an annotation", tool.Name)
		}
	}
}
