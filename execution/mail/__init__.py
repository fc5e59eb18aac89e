"""What sending a mail takes: templates that can do no harm, and a server that is asked once for many."""
