package detach

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// waitingName marks the folder of a job that waits for a place, or for its
// supervisor to begin: its order is there, and as long as there is no lock of a
// supervisor nobody has begun with it. When its server is killed then, the next
// one starts it: whoever was told of the job counts on it.
const waitingName = "waiting"

// maxOrder is more than any order has, in bytes: a command line and an
// environment, as much as kernels take, in JSON.
const maxOrder = 16 << 20

// isWaiting reports whether the job of a folder waits for a place.
func isWaiting(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, waitingName))
	return err == nil && !hasSupervisor(dir)
}

// hasSupervisor reports whether a supervisor has, or had, the job of a folder.
func hasSupervisor(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, lockName))
	return err == nil
}

// make makes the folder of a job that nobody has begun, for the next server too.
func (p *Place) make(o *job.Order) (string, error) {
	dir, err := p.accept(o)
	if err != nil {
		return "", err
	}
	if err := writeWhole(filepath.Join(dir, waitingName), nil); err != nil {
		os.RemoveAll(dir) // Best effort: prune removes it.
		return "", &job.DetachError{Err: err, Remedy: remedyState}
	}
	return dir, nil
}

// Keep makes the folder of a job before anybody is told of it.
func (p *Place) Keep(o *job.Order) error {
	if _, err := p.make(o); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[o.ID] = true
	return nil
}

// Forget removes the folder of a job that waited and will not be started.
func (p *Place) Forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.kept, id)
	delete(p.mine, id)
	// Best effort: what stays is old some day, and prune removes it.
	_ = os.RemoveAll(filepath.Join(p.dir, id))
}

// folderOf is the folder of a job that is to be started: the one that Keep made, or
// a new one.
func (p *Place) folderOf(o *job.Order) (string, error) {
	p.mu.Lock()
	waited := p.kept[o.ID]
	delete(p.kept, o.ID)
	p.mu.Unlock()
	if waited {
		return filepath.Join(p.dir, o.ID), nil
	}
	return p.make(o)
}

// Waiting takes the jobs that wait for a place and that no living server has.
func (p *Place) Waiting(id string) (orders []*job.Order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.takeLocked(id, isWaiting) {
		dir := filepath.Join(p.dir, id)
		o, err := readOrder(dir)
		if err == nil && o.ID != id {
			err = fmt.Errorf("it is for job %.40q", o.ID)
		}
		if err != nil {
			p.warn("job %s of an earlier server, which waits, cannot be started: read %s: %v", id, filepath.Join(dir, orderName), err)
			continue
		}
		p.kept[id] = true
		orders = append(orders, o)
	}
	return orders
}

// readOrder reads the order in a folder and leaves it there.
func readOrder(dir string) (*job.Order, error) {
	f, err := sys.OpenShared(filepath.Join(dir, orderName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var o job.Order
	if err := json.NewDecoder(io.LimitReader(f, maxOrder)).Decode(&o); err != nil {
		return nil, err
	}
	return &o, nil
}
