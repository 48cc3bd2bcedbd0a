package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxTries is how often a message that was not taken is sent.
const maxTries = 2

// postTo sends a message to a daemon that serves no streams, and waits for its
// reply: one is in work at a time. False says that the message was not taken and
// may be sent to another daemon.
func (b *bridge) postTo(up *uplink, f *flight) bool {
	res, err := b.exchange(up, f.line)
	var nobody *dialError
	switch {
	case errors.As(err, &nobody), errors.Is(err, errRefused):
		if f.tries++; f.tries < maxTries {
			return false
		}
		b.answer(f, codeUnavailable, "daemon unavailable: "+err.Error(), nil)
	case err != nil && b.repeatable(f) && f.tries == 0:
		f.tries++
		return false
	case err != nil:
		b.answer(f, codeUnknown, "outcome unknown: "+err.Error(), up.link.hello.Generation)
	case len(res) == 0:
		b.answer(f, codeUnavailable, "the daemon answered with nothing", nil)
	default:
		b.write(append(res, '\n'))
	}
	return true
}

// errRefused: the daemon is on its way out, or another one than the token's.
var errRefused = errors.New("the daemon did not take it")

// exchange posts a message and gives the reply as one line.
func (b *bridge) exchange(up *uplink, line []byte) ([]byte, error) {
	req, err := b.d.request(b.ctx, http.MethodPost, b.opts.MCPPath, bytes.NewReader(line))
	if err != nil {
		return nil, &dialError{err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := up.post.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%w: %s", errRefused, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(b.opts.MaxLine)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the reply: %w", err)
	case len(body) > b.opts.MaxLine:
		return nil, fmt.Errorf("the reply is longer than %d bytes", b.opts.MaxLine)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, nil
	case res.StatusCode < 200 || res.StatusCode > 299:
		if !json.Valid(body) {
			return nil, fmt.Errorf("the daemon answered %s", res.Status)
		}
	}
	var one bytes.Buffer
	if err := json.Compact(&one, body); err != nil {
		return nil, fmt.Errorf("the reply is no JSON: %w", err)
	}
	return one.Bytes(), nil
}
