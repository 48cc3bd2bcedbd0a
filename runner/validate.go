package runner

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// The schemas of both versions as gzip packs them, which is an eighth.
//
//go:embed schema/events-v1.json.gz
var packedV1 []byte

//go:embed schema/events-v2.json.gz
var packedV2 []byte

func unpack(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	var text []byte
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err != nil {
		panic("runner: the embedded schema: " + err.Error())
	}
	return text
}

// MaxLine is the most bytes that a line of a stream may have, its newline not
// counted.
const MaxLine = 1 << 20

// Schema is the published JSON Schema of one line of the stream, in one of the
// versions 1 and 2; nil for another.
func Schema(version int) []byte {
	switch version {
	case SchemaVersion:
		return unpack(packedV1)
	case SchemaDetailed:
		return unpack(packedV2)
	}
	return nil
}

// rules and detailedRules are the schemas' definitions by event, resolved.
var (
	rules         = sync.OnceValue(func() map[Name]*jsonschema.Resolved { return resolve(unpack(packedV1)) })
	detailedRules = sync.OnceValue(func() map[Name]*jsonschema.Resolved { return resolve(unpack(packedV2)) })
)

func resolve(schema []byte) map[Name]*jsonschema.Resolved {
	var whole struct {
		Defs map[Name]*jsonschema.Schema `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &whole); err != nil {
		panic("runner: the embedded schema: " + err.Error())
	}
	out := make(map[Name]*jsonschema.Resolved, len(whole.Defs))
	for name, s := range whole.Defs {
		r, err := s.Resolve(nil)
		if err != nil {
			panic("runner: the embedded schema of " + string(name) + ": " + err.Error())
		}
		out[name] = r
	}
	return out
}

// Validate says why one line, with or without its newline, is no event of the
// published schema; nil if it is one. The schema is closed: an unknown event,
// key or word is an error.
func Validate(line []byte) error {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if len(line) > MaxLine {
		return fmt.Errorf("is longer than %d bytes", MaxLine)
	}
	if !utf8.Valid(line) {
		return errors.New("is not UTF-8")
	}
	v, err := strictJSON(line)
	if err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return errors.New("is not a JSON object")
	}
	name, ok := m["event"].(string)
	if !ok {
		return errors.New(`has no key "event" with a string`)
	}
	known := rules
	if m["schema_version"] == float64(SchemaDetailed) {
		known = detailedRules
	}
	rule, ok := known()[Name(name)]
	if !ok {
		return fmt.Errorf("event %q is not in the schema", name)
	}
	if err := rule.Validate(m); err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	return nil
}

// strictJSON decodes one value and refuses what encoding/json lets pass: a key
// given twice, and anything after the value.
func strictJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := noTwins(d); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("has more than one JSON value")
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	return v, nil
}

// noTwins reads one value and looks for keys given twice.
func noTwins(d *json.Decoder) error {
	t, err := d.Token()
	if err == io.EOF {
		return errors.New("is empty")
	}
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return fmt.Errorf("is not JSON: %w", err)
			}
			key := k.(string) // the decoder lets no other token pass here
			if seen[key] {
				return fmt.Errorf("has the key %q twice", key)
			}
			seen[key] = true
		}
		if err := noTwins(d); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	return nil
}
