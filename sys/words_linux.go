package sys

import (
	"encoding/binary"
	"errors"
)

// word is one message between the supervisor and its helpers: a kind and a few
// numbers. Descriptors travel beside it.
type word struct {
	kind byte
	args []int64
}

// The kinds.
const (
	// To a shim.
	wordOrder = 'O' // the order, unless it is long; descriptors: the leader's 0, 1 and 2, and a long order's file
	wordTaken = 'A' // "started" without a number was heard: the leader may be reaped from now on
	wordKill  = 'K'
	// To a keeper.
	wordShim = 'N' // serial; descriptor: the new shim's socket
	// From a shim, and the first from a keeper too.
	wordReady   = 'R' // descriptor: its pidfd
	wordStarted = 'S' // number and start of the leader, unless that is in a namespace; descriptor: its pidfd
	wordFailed  = 'F' // step, errno
	wordExit    = 'X' // code, signal, core, CPU time, peak memory, its floor, bytes read and written
	wordSpent   = 'U' // CPU time of all that were reaped
	wordEmpty   = 'E'
	wordGone    = 'Z' // these three in one, where nobody outlived the leader
	// From a keeper.
	wordPeeled = 'G' // serial of a shim that was lost: nothing of its tree is left
)

// maxWord is the longest word.
const maxWord = 1 + 9*binary.MaxVarintLen64

// maxInline is the longest order that travels in its message.
const maxInline = 32 << 10

// The steps of a start that a word tells of.
const (
	stepHelper = iota // the helper itself could not be started
	stepDir
	stepCheck
	stepExec
)

var errWord = errors.New("not a message of a helper")

func (w word) encode() []byte {
	b := make([]byte, 1, maxWord)
	b[0] = w.kind
	for _, n := range w.args {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func decodeWord(b []byte) (word, error) {
	if len(b) == 0 || len(b) > maxWord {
		return word{}, errWord
	}
	w := word{kind: b[0]}
	for b = b[1:]; len(b) > 0; {
		n, size := binary.Varint(b)
		if size <= 0 {
			return word{}, errWord
		}
		w.args, b = append(w.args, n), b[size:]
	}
	return w, nil
}

// arg is one of the numbers, 0 where there are fewer.
func (w word) arg(i int) int64 {
	if i < len(w.args) {
		return w.args[i]
	}
	return 0
}
