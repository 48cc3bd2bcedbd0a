package main

import "encoding/json"

// printJSON writes one indented JSON object to stdout, without HTML escaping.
func (a *App) printJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
