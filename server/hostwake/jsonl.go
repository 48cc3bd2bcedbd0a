package hostwake

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// line writes v as one line of JSON. Text stays as it is, but for what JSON
// itself escapes.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a line: %w", err)
	}
	return b.Bytes(), nil
}
