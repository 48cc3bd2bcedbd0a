package runner

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "pack the schemas anew")

// The schemas in the program are those of the folder.
func TestPackedSchemas(t *testing.T) {
	for _, version := range []int{SchemaVersion, SchemaDetailed} {
		path := fmt.Sprintf("schema/events-v%d.json", version)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		if *update {
			var b bytes.Buffer
			w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if err == nil {
				_, err = w.Write(text)
				err = errors.Join(err, w.Close(), os.WriteFile(path+".gz", b.Bytes(), 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
			continue // this program has the old ones
		}
		if !bytes.Equal(Schema(version), text) {
			t.Errorf("%s is another one in the program; make golden packs it anew", path)
		}
	}
}
