// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package options turns command-line flags into one validated value.
//
// It holds no state and starts nothing.
package options

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options configure the controller. Names, defaults and meaning of the flags
// are the reference's; those it does not have say so in their help.
type Options struct {
	// MetricsAddr and HealthAddr are listen addresses; "0" switches one off.
	MetricsAddr string
	HealthAddr  string
	// EventsAddr is the URL that events are posted to; empty for nowhere.
	EventsAddr string
	// EnablePprof serves Go's profiles beside the metrics.
	EnablePprof bool
	// Concurrent is how many HelmReleases are visited, and how many Helm actions
	// work, at the same time.
	Concurrent int
	// KubeAPIQPS and KubeAPIBurst limit requests to the API server.
	KubeAPIQPS   float64
	KubeAPIBurst int
	// HTTPTimeout bounds one download of an artifact, HTTPRetry how often it is tried
	// again within that time.
	HTTPTimeout time.Duration
	HTTPRetry   int
	// ArtifactMaxBytes is the largest artifact that is downloaded.
	ArtifactMaxBytes int64
	// ArtifactCacheBytes is how much is kept of artifacts in memory; 0 is nothing.
	ArtifactCacheBytes int64
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// IntervalJitter spreads intervals by up to this percentage either way.
	IntervalJitter int
	// GracefulShutdown is how long running actions may take to end.
	GracefulShutdown time.Duration
	// LeaderElect makes replicas take turns.
	LeaderElect             bool
	LeaderElectReleaseOnEnd bool
	LeaseDuration           time.Duration
	LeaseRenewDeadline      time.Duration
	LeaseRetryPeriod        time.Duration
	// WatchAllNamespaces is false if only RuntimeNamespace is watched.
	WatchAllNamespaces bool
	// WatchLabels selects, by label, the HelmReleases this controller looks after;
	// empty selects all.
	WatchLabels string
	// WatchConfigs selects, by label, the ConfigMaps and Secrets whose changes wake
	// the HelmReleases that take values from them; empty selects all.
	WatchConfigs string
	// DefaultServiceAccount is the name of whom Helm acts as, in the namespace of
	// the HelmRelease, where that names nobody; empty is the controller itself.
	DefaultServiceAccount string
	// DefaultKubeconfigServiceAccount is whose tokens lead to clusters that a ConfigMap
	// describes without naming anybody; it takes the gate ObjectLevelWorkloadIdentity.
	DefaultKubeconfigServiceAccount string
	// OverrideManagers are field managers whose fields are taken from them where drift is
	// looked for.
	OverrideManagers []string
	// InsecureKubeconfigExec allows kubeconfigs to execute commands here, and
	// InsecureKubeconfigTLS not to verify API servers.
	InsecureKubeconfigExec bool
	InsecureKubeconfigTLS  bool
	// NoCrossNamespaceRefs refuses sources in other namespaces than the HelmRelease's.
	NoCrossNamespaceRefs bool
	// RequeueDependency is when to look again at a dependency that was not ready.
	RequeueDependency time.Duration
	// SnapshotDigestAlgo names the algorithm of the digests in history; it is sha256.
	SnapshotDigestAlgo string
	// TokenCacheMaxDuration bounds how long tokens for other clusters are used. Of
	// TokenCacheMaxSize only 0 counts, which keeps none: there is one for each cluster.
	TokenCacheMaxSize     int
	TokenCacheMaxDuration time.Duration
	// Memory says when to shut down rather than be killed; it counts only with the
	// gate OOMWatch.
	Memory MemoryWatch
	// OperationTimeout is the longest that an Operation may wait, and one of its Jobs run.
	OperationTimeout time.Duration
	// ClusterID labels what is made for Operations; empty for nothing.
	ClusterID string
	// Gates are the feature gates.
	Gates Gates
	// RuntimeNamespace is where the controller itself runs.
	RuntimeNamespace string
	// SourceController and SourceWatcher are the "host:port" that takes the place of
	// the one in an artifact's URL; empty leaves it alone.
	SourceController string
	SourceWatcher    string
	// LogLevel is trace, debug, info or error; LogEncoding is json or console.
	LogLevel    string
	LogEncoding string
}

// MemoryWatch configures the watch of the memory that is left.
type MemoryWatch struct {
	// Threshold is the share of the limit at which to shut down, 1 to 100 percent.
	Threshold int
	// Interval is the time between looks, 50ms at least.
	Interval time.Duration
	// MaxPath and CurrentPath are files of the cgroup that hold the limit and what is
	// used, in bytes; empty are found out.
	MaxPath     string
	CurrentPath string
}

// Parse reads arguments, program name excluded, and the environment. Help is
// written to out. It returns flag.ErrHelp if that was asked for.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := &Options{
		RuntimeNamespace: os.Getenv("RUNTIME_NAMESPACE"),
		SourceController: os.Getenv("SOURCE_CONTROLLER_LOCALHOST"),
		SourceWatcher:    os.Getenv("SOURCE_WATCHER_LOCALHOST"),
	}
	fs := flag.NewFlagSet("pintle", flag.ContinueOnError)
	// A mistake is to be one message: not two, with forty flags between them.
	fs.SetOutput(io.Discard)
	o.bind(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(out)
			fs.PrintDefaults()
		}
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Concurrent < 1, "--concurrent=%d: at least 1", o.Concurrent)
	bad(o.ArtifactMaxBytes < 1, "--artifact-max-bytes=%d: at least 1", o.ArtifactMaxBytes)
	bad(o.ArtifactCacheBytes < 0, "--artifact-cache-bytes=%d: at least 0", o.ArtifactCacheBytes)
	bad(o.IntervalJitter < 0 || o.IntervalJitter >= 100, "--interval-jitter-percentage=%d: from 0 to 99", o.IntervalJitter)
	bad(o.MinRetryDelay <= 0 || o.MaxRetryDelay < o.MinRetryDelay,
		"--min-retry-delay=%s, --max-retry-delay=%s: more than zero, and not the wrong way round", o.MinRetryDelay, o.MaxRetryDelay)
	bad(o.HTTPTimeout <= 0, "--http-timeout=%s: more than zero", o.HTTPTimeout)
	bad(o.HTTPRetry < 0, "--http-retry=%d: at least 0", o.HTTPRetry)
	bad(o.RequeueDependency <= 0, "--requeue-dependency=%s: more than zero", o.RequeueDependency)
	bad(o.Memory.Threshold < 1 || o.Memory.Threshold > 100, "--oom-watch-memory-threshold=%d: from 1 to 100", o.Memory.Threshold)
	bad(o.Memory.Interval < shortestLook, "--oom-watch-interval=%s: at least %s", o.Memory.Interval, shortestLook)
	bad(o.TokenCacheMaxSize < 0, "--token-cache-max-size=%d: at least 0", o.TokenCacheMaxSize)
	bad(o.TokenCacheMaxDuration < 0, "--token-cache-max-duration=%s: at least 0s", o.TokenCacheMaxDuration)
	bad(!o.WatchAllNamespaces && o.RuntimeNamespace == "", "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment")
	bad(o.DefaultKubeconfigServiceAccount != "" && !o.Gates.ObjectLevelWorkloadIdentity,
		"--default-kubeconfig-service-account needs the feature gate ObjectLevelWorkloadIdentity")
	bad(o.OperationTimeout < time.Second, "--operation-timeout=%s: at least a second", o.OperationTimeout)
	wrong := validation.IsValidLabelValue(o.ClusterID)
	bad(len(wrong) > 0, "--cluster-id=%s: %s", o.ClusterID, strings.Join(wrong, "; "))
	errs = append(errs, o.validateTexts()...)
	return errors.Join(errs...)
}

// shortestLook is the shortest time between two looks at the memory that is left.
const shortestLook = 50 * time.Millisecond

func (o *Options) validateTexts() []error {
	var errs []error
	for _, s := range []struct{ flag, text string }{
		{"watch-label-selector", o.WatchLabels}, {"watch-configs-label-selector", o.WatchConfigs},
	} {
		if _, err := labels.Parse(s.text); err != nil {
			errs = append(errs, fmt.Errorf("--%s=%s: %w", s.flag, s.text, err))
		}
	}
	if !isAddress(o.EventsAddr) {
		// Not quoted: it may hold a password.
		errs = append(errs, errors.New("--events-addr: an http or https URL is needed, like http://notification-controller.flux-system/"))
	}
	if o.SnapshotDigestAlgo != "sha256" {
		errs = append(errs, fmt.Errorf("--snapshot-digest-algo=%s: sha256 is the only one that is supported by this version", o.SnapshotDigestAlgo))
	}
	if !slices.Contains([]string{"trace", "debug", "info", "error"}, o.LogLevel) {
		errs = append(errs, fmt.Errorf("--log-level=%s: trace, debug, info or error", o.LogLevel))
	}
	if !slices.Contains([]string{"json", "console"}, o.LogEncoding) {
		errs = append(errs, fmt.Errorf("--log-encoding=%s: json or console", o.LogEncoding))
	}
	return errs
}

func isAddress(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// Notices are what an operator should know about options that are accepted and
// change nothing. They are to be logged.
func (o *Options) Notices() []string {
	notices := o.Gates.notices()
	if o.TokenCacheMaxSize != tokenCacheSize && o.TokenCacheMaxSize != 0 {
		notices = append(notices, "--token-cache-max-size has no effect but for 0: a token is kept for each cluster that takes one")
	}
	return notices
}

// TokenLifetime is how long tokens for other clusters are used at most; 0 for one request
// each.
func (o *Options) TokenLifetime() time.Duration {
	if o.TokenCacheMaxSize == 0 {
		return 0
	}
	return o.TokenCacheMaxDuration
}

// Selector is WatchLabels, parsed; nil if it is empty, or no selector and was not
// validated.
func (o *Options) Selector() labels.Selector {
	selector, err := labels.Parse(o.WatchLabels)
	if err != nil || o.WatchLabels == "" {
		return nil
	}
	return selector
}

// LeaseName names the Lease of whoever looks after the same HelmReleases, which
// begins with base: those that look after others have one of their own.
func (o *Options) LeaseName(base string) string {
	if o.WatchLabels == "" {
		return base
	}
	sum := sha256.Sum256([]byte(o.WatchLabels))
	return fmt.Sprintf("%s-%.4x", base, sum)
}

// ConfigSelector is WatchConfigs, parsed. It selects nothing if WatchConfigs was
// not validated and is no selector.
func (o *Options) ConfigSelector() labels.Selector {
	selector, err := labels.Parse(o.WatchConfigs)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
