// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"net/http"

	"github.com/pintle-dev/pintle/test/harness"
)

// figures are the used metrics of a controller.
type figures struct {
	// sent is client-go's count of requests, by method.
	sent map[string]int
	// reconciliations are those of HelmReleases that have ended with any result; waiting and active
	// are the queued and the running ones.
	reconciliations, waiting, active int
}

func (f figures) total() int {
	sum := 0
	for _, n := range f.sent {
		sum += n
	}
	return sum
}

// figures scrapes the controller's metrics, which costs the controller some CPU time.
func (b *bench) figures(ctx context.Context) (figures, error) {
	m, err := b.Env.Controller.Metrics(ctx)
	return figuresOf(m), err
}

// figuresOf reads metrics of controller-runtime. HelmReleases have the same controller name in all
// controllers.
func figuresOf(m harness.Metrics) figures {
	f := figures{
		sent:            map[string]int{},
		reconciliations: int(m.Sum("controller_runtime_reconcile_total", `controller="helmrelease"`)),
		active:          int(m.Sum("controller_runtime_active_workers", `controller="helmrelease"`)),
		waiting:         int(m.Sum("workqueue_depth", `name="helmrelease"`)),
	}
	for method, n := range m.By("rest_client_requests_total", "method") {
		f.sent[method] = int(n)
	}
	return f
}

// secretBytes returns how many bytes an API server has sent in answer to reads of Secrets by all
// clients, without watches, which it does not count.
func secretBytes(ctx context.Context, server *http.Client, host string) (int64, error) {
	m, err := harness.Scrape(ctx, server, host+"/metrics")
	return int64(m.Sum("apiserver_response_sizes_sum", `resource="secrets"`, `group=""`)), err
}
