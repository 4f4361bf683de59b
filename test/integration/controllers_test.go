// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// labelController assigns a HelmRelease to a controller of its own test. The shared controller
// ignores it.
const labelController = "it.pintle.dev/controller"

// config is how one controller differs from another.
type config struct {
	settings inputs.Settings
	// concurrent is the number of concurrent reconciliations, by default more than there are tests in
	// parallel.
	concurrent int
	// overridden are field managers whose changes are overridden.
	overridden []string
	// notifications, if set, posts events.
	notifications *events.Sender
	// wrap, if set, wraps the transport of all requests.
	wrap clienttransport.WrapperFunc
	// withoutOperations is true for a controller that starts without the Operation CRD.
	withoutOperations bool
	// endpoint, if set, is the API server it uses.
	endpoint *rest.Config
	// defaultServiceAccount is the identity of releases without serviceAccountName.
	defaultServiceAccount string
	// helmCharts configures the controller of HelmCharts, which is disabled by default.
	helmCharts controller.HelmCharts
	// observe makes the controller only observe.
	observe bool
	// metrics, if set, is called with the registry of the controller's metrics.
	metrics func(prometheus.Gatherer)
	// name is the label value of the controller's HelmReleases.
	name string
}

// see restricts the controller's cache to its HelmReleases.
func (c config) see(opts *ctrl.Options) error {
	text := "!" + labelController
	if c.name != "" {
		text = labelController + "=" + c.name
	}
	selector, err := labels.Parse(text)
	opts.Cache.ByObject[&helmv2.HelmRelease{}] = cache.ByObject{Label: selector}
	if c.helmCharts.Enabled {
		opts.Cache.ByObject[&cattlev1.HelmChart{}] = cache.ByObject{Label: selector}
	}
	if !c.withoutOperations && os.Getenv("PINTLE_CRDS") == "" {
		opts.Cache.ByObject[&opsv1alpha1.Operation{}] = cache.ByObject{Label: selector}
	}
	return err
}

// ownController starts a controller for the duration of a test. It returns a function that assigns
// a HelmRelease to it.
func (w *world) ownController(c config) func(*helmv2.HelmRelease) {
	w.t.Helper()
	c.name = w.namespace
	stop, err := startController(c)
	w.must(err)
	w.t.Cleanup(func() {
		if err := stop(); err != nil {
			w.t.Error(err)
		}
	})
	return func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: c.name} }
}
