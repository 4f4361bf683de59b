// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/acl"
	"github.com/fluxcd/pkg/runtime/client"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// Defaults of helm-controller's token cache.
const (
	tokenCacheSize     = 100
	tokenCacheDuration = time.Hour
)

// Options configure the controller. Names, defaults and meaning of the flags equal
// helm-controller's. The help of each flag that helm-controller does not have says so.
type Options struct {
	// Version is true if only the version is printed.
	Version bool
	// Log configures the logger of the controller and its libraries.
	Log logger.Options
	// Client limits the requests to an API server, for each release.
	Client client.Options
	// Kubeconfig lists the fields of kubeconfigs that are allowed.
	Kubeconfig client.KubeConfigOptions
	// ACL restricts references between namespaces.
	ACL            acl.Options
	LeaderElection leaderelection.Options
	// AllowSecondController leads even while a controller in another namespace leads.
	AllowSecondController bool
	// Observe reports what would be done to each release, and does nothing.
	Observe bool
	// IntervalJitter spreads intervals by up to a percentage in both directions.
	IntervalJitter jitter.IntervalOptions
	// MetricsAddr and HealthAddr are listen addresses; "0" disables the server.
	MetricsAddr string
	HealthAddr  string
	// EventsAddr is the URL that events are posted to; empty posts none.
	EventsAddr string
	// EnablePprof serves profiles of net/http/pprof at the metrics address.
	EnablePprof bool
	// UI configures the web page.
	UI UI
	// Concurrent is the maximum number of concurrent reconciliations of HelmReleases, and of
	// Helm actions that work at the same time.
	Concurrent int
	// HTTPTimeout bounds one download of an artifact. HTTPRetry is the maximum number of
	// retries within that time.
	HTTPTimeout time.Duration
	HTTPRetry   int
	// ArtifactMaxBytes is the size of the largest artifact that is downloaded.
	ArtifactMaxBytes int64
	// ArtifactCacheBytes is the size of the in-memory cache of artifacts; 0 disables it.
	ArtifactCacheBytes int64
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// GracefulShutdown is the time that running actions have to end at shutdown.
	GracefulShutdown time.Duration
	// WatchAllNamespaces is false if only RuntimeNamespace is watched.
	WatchAllNamespaces bool
	// WatchLabels selects the reconciled HelmReleases by label; empty selects all.
	WatchLabels string
	// WatchConfigs selects by label the ConfigMaps and Secrets whose changes trigger
	// reconciliations of the HelmReleases that take values from them; empty selects all.
	WatchConfigs string
	// DefaultServiceAccount is the name of the impersonated ServiceAccount, in the namespace of
	// the HelmRelease, for a HelmRelease that names none. If empty, Helm acts as the controller.
	DefaultServiceAccount string
	// DefaultKubeconfigServiceAccount is the ServiceAccount whose tokens authenticate to other
	// clusters, for ConfigMaps that name none. It needs the gate ObjectLevelWorkloadIdentity.
	DefaultKubeconfigServiceAccount string
	// OverrideManagers are field managers whose fields are taken over where drift detection is
	// enabled.
	OverrideManagers []string
	// RequeueDependency is the requeue delay of a HelmRelease with a dependency that is not ready.
	RequeueDependency time.Duration
	// DryRunDenials is Try or Refuse: what follows if a dry run denies an object for a reason that may
	// depend on other objects.
	DryRunDenials string
	// SnapshotDigestAlgo is the algorithm of the digests in history. Only sha256 is valid.
	SnapshotDigestAlgo string
	// TokenCacheMaxDuration is the maximum age of cached tokens for other clusters. A
	// TokenCacheMaxSize of 0 disables the cache. Other sizes have no effect: the cache holds one
	// token for each cluster.
	TokenCacheMaxSize     int
	TokenCacheMaxDuration time.Duration
	// Memory configures the memory watch, which needs the gate OOMWatch.
	Memory MemoryWatch
	// OperationTimeout is the maximum time that an Operation waits, and that one of its Jobs runs.
	OperationTimeout time.Duration
	// OperationCleanupTimeout is how long a deleted Operation waits until its objects in other
	// namespaces and clusters are deleted.
	OperationCleanupTimeout time.Duration
	// HelmChartReinstall is protect or as-k3s: whether a failed release of a HelmChart that holds
	// claims is reinstalled.
	HelmChartReinstall string
	// HelmChartArchiveCIDRs are ranges of addresses that archives in HelmCharts may have beside
	// public ones.
	HelmChartArchiveCIDRs []string
	// ClusterID is a label value of objects that are created for Operations; empty adds no label.
	ClusterID string
	// Gates are the feature gates.
	Gates Gates
	// RuntimeNamespace is the namespace of the controller.
	RuntimeNamespace string
	// SourceController and SourceWatcher are a "host:port" that replaces the host in the URL of
	// an artifact; empty leaves the URL as it is.
	SourceController string
	SourceWatcher    string
}

// The values of HelmChartReinstall.
const (
	ReinstallProtect = "protect"
	ReinstallAsK3s   = "as-k3s"
)

// MemoryWatch configures a graceful shutdown before the kernel kills the process for its memory.
type MemoryWatch struct {
	// Threshold is the percentage of the memory limit that triggers the shutdown, from 1 to 100.
	Threshold int
	// Interval is the time between two checks, at least 50ms.
	Interval time.Duration
	// MaxPath and CurrentPath are files that hold the memory limit and the memory usage in bytes.
	// If empty, the files of the cgroup are detected.
	MaxPath     string
	CurrentPath string
}

func (o *Options) validate() error {
	var errs []error
	bad := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Concurrent < 1, "--concurrent=%d: at least 1", o.Concurrent)
	bad(o.ArtifactMaxBytes < 1, "--artifact-max-bytes=%d: at least 1", o.ArtifactMaxBytes)
	bad(o.ArtifactCacheBytes < 0, "--artifact-cache-bytes=%d: at least 0", o.ArtifactCacheBytes)
	bad(o.IntervalJitter.Percentage >= 100, "--interval-jitter-percentage=%d: from 0 to 99", o.IntervalJitter.Percentage)
	bad(o.MinRetryDelay <= 0 || o.MaxRetryDelay < o.MinRetryDelay,
		"--min-retry-delay=%s, --max-retry-delay=%s: more than zero, and the first at most the second", o.MinRetryDelay, o.MaxRetryDelay)
	bad(o.HTTPTimeout <= 0, "--http-timeout=%s: more than zero", o.HTTPTimeout)
	bad(o.HTTPRetry < 0, "--http-retry=%d: at least 0", o.HTTPRetry)
	bad(o.RequeueDependency <= 0, "--requeue-dependency=%s: more than zero", o.RequeueDependency)
	bad(o.Memory.Threshold < 1 || o.Memory.Threshold > 100, "--oom-watch-memory-threshold=%d: from 1 to 100", o.Memory.Threshold)
	bad(o.Memory.Interval < minMemoryInterval, "--oom-watch-interval=%s: at least %s", o.Memory.Interval, minMemoryInterval)
	bad(o.TokenCacheMaxSize < 0, "--token-cache-max-size=%d: at least 0", o.TokenCacheMaxSize)
	bad(o.TokenCacheMaxDuration < 0, "--token-cache-max-duration=%s: at least 0s", o.TokenCacheMaxDuration)
	bad(!o.WatchAllNamespaces && o.RuntimeNamespace == "", "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment")
	bad(o.DefaultKubeconfigServiceAccount != "" && !o.Gates.ObjectLevelWorkloadIdentity,
		"--default-kubeconfig-service-account needs the feature gate ObjectLevelWorkloadIdentity")
	bad(o.OperationCleanupTimeout < time.Second, "--operation-cleanup-timeout=%s: at least a second", o.OperationCleanupTimeout)
	bad(o.OperationTimeout < time.Second, "--operation-timeout=%s: at least a second", o.OperationTimeout)
	invalid := validation.IsValidLabelValue(o.ClusterID)
	bad(len(invalid) > 0, "--cluster-id=%s: %s", o.ClusterID, strings.Join(invalid, "; "))
	errs = append(errs, o.UI.validate())
	errs = append(errs, o.validateTexts()...)
	return errors.Join(errs...)
}

// minMemoryInterval is the smallest valid MemoryWatch.Interval.
const minMemoryInterval = 50 * time.Millisecond

func (o *Options) validateTexts() []error {
	var errs []error
	for _, s := range []struct{ flag, text string }{
		{"watch-label-selector", o.WatchLabels}, {"watch-configs-label-selector", o.WatchConfigs},
	} {
		if _, err := labels.Parse(s.text); err != nil {
			errs = append(errs, fmt.Errorf("--%s=%s: %w", s.flag, s.text, err))
		}
	}
	if !isEmptyOrHTTP(o.EventsAddr) {
		// The error does not contain the URL, which may have a password.
		errs = append(errs, errors.New("--events-addr: not an http or https URL, such as http://notification-controller.flux-system/"))
	}
	if slices.Contains(o.OverrideManagers, "") {
		errs = append(errs, errors.New("--override-manager=: empty name"))
	}
	if !slices.Contains([]string{"Try", "Refuse"}, o.DryRunDenials) {
		errs = append(errs, fmt.Errorf("--dry-run-denials=%s: Try or Refuse", o.DryRunDenials))
	}
	if !slices.Contains([]string{ReinstallProtect, ReinstallAsK3s}, o.HelmChartReinstall) {
		errs = append(errs, fmt.Errorf("--helmchart-reinstall=%s: %s or %s", o.HelmChartReinstall, ReinstallProtect, ReinstallAsK3s))
	}
	if _, err := o.ArchiveRanges(); err != nil {
		errs = append(errs, fmt.Errorf("--helmchart-archive-cidr: %w", err))
	}
	if o.Gates.HelmChartAPI && !o.selectsHelmCharts() {
		errs = append(errs, errors.New("the feature gate HelmChartAPI needs a --watch-label-selector that selects HelmReleases without labels of a shard, "+
			"such as '!sharding.fluxcd.io/key', or none: set the gate only there"))
	}
	if o.SnapshotDigestAlgo != "sha256" {
		errs = append(errs, fmt.Errorf("--snapshot-digest-algo=%s: only sha256 is supported", o.SnapshotDigestAlgo))
	}
	if !slices.Contains([]string{"trace", "debug", "info", "error"}, o.Log.LogLevel) {
		errs = append(errs, fmt.Errorf("--log-level=%s: trace, debug, info or error", o.Log.LogLevel))
	}
	if !slices.Contains([]string{"json", "console"}, o.Log.LogEncoding) {
		errs = append(errs, fmt.Errorf("--log-encoding=%s: json or console", o.Log.LogEncoding))
	}
	return errs
}

// selectsHelmCharts reports whether the controller selects the HelmReleases that it makes for HelmCharts.
func (o *Options) selectsHelmCharts() bool {
	selector := o.Selector()
	return selector == nil || selector.Matches(labels.Set{cattlev1.LabelHelmChart: "any"})
}

func isEmptyOrHTTP(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// ArchiveRanges returns HelmChartArchiveCIDRs, parsed.
func (o *Options) ArchiveRanges() ([]netip.Prefix, error) {
	all := make([]netip.Prefix, 0, len(o.HelmChartArchiveCIDRs))
	for _, text := range o.HelmChartArchiveCIDRs {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Summary returns keys and values of the options that matter most, for the log: the HelmReleases
// that are reconciled, the default identity, and the host that events are posted to. A user and a password in the events address are
// left out.
func (o *Options) Summary() []any {
	namespaces := "all"
	if !o.WatchAllNamespaces {
		namespaces = o.RuntimeNamespace
	}
	events := "none"
	if u, err := url.Parse(o.EventsAddr); err == nil && u.Host != "" {
		events = u.Host
	}
	return []any{
		"namespaces", namespaces, "selector", o.WatchLabels, "concurrent", o.Concurrent,
		"defaultServiceAccount", o.DefaultServiceAccount, "leaderElection", o.LeaderElection.Enable,
		"eventsHost", events, "metricsAddr", o.MetricsAddr, "noCrossNamespaceRefs", o.ACL.NoCrossNamespaceRefs,
	}
}

// Notices returns log messages about options that are accepted and have no effect.
func (o *Options) Notices() []string {
	notices := o.Gates.notices()
	if o.TokenCacheMaxSize != tokenCacheSize && o.TokenCacheMaxSize != 0 {
		notices = append(notices, "--token-cache-max-size has no effect unless it is 0: the cache holds one token for each cluster")
	}
	if o.Observe && o.Gates.HelmChartAPI {
		notices = append(notices, "the feature gate HelmChartAPI has no effect with --observe: HelmCharts would have to be translated")
	}
	if o.Observe && o.EventsAddr != "" {
		notices = append(notices, "--events-addr has no effect with --observe: the controller that leads posts events")
	}
	return notices
}

// TokenLifetime returns the maximum age of cached tokens for other clusters. 0 disables the cache.
func (o *Options) TokenLifetime() time.Duration {
	if o.TokenCacheMaxSize == 0 {
		return 0
	}
	return o.TokenCacheMaxDuration
}

// LooksForOthers reports whether the controller waits while a controller in another namespace
// leads. A controller of one namespace does not wait: a Lease does not contain which namespaces its
// holder watches.
func (o *Options) LooksForOthers() bool {
	return o.LeaderElection.Enable && !o.AllowSecondController && o.WatchAllNamespaces
}

// Selector returns WatchLabels, parsed. It returns nil if WatchLabels is empty or invalid.
func (o *Options) Selector() labels.Selector {
	selector, err := labels.Parse(o.WatchLabels)
	if err != nil || o.WatchLabels == "" {
		return nil
	}
	return selector
}

// LeaseName returns the name of the Lease. Without WatchLabels it is base. Otherwise it has a
// digest of WatchLabels appended, as in helm-controller: each shard elects its own leader.
func (o *Options) LeaseName(base string) string {
	if o.WatchLabels == "" {
		return base
	}
	return leaderelection.GenerateID(base, o.WatchLabels)
}

// ConfigSelector returns WatchConfigs, parsed. If WatchConfigs is invalid, it selects nothing.
func (o *Options) ConfigSelector() labels.Selector {
	selector, err := labels.Parse(o.WatchConfigs)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
